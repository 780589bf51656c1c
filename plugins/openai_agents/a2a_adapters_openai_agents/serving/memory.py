"""What is known of conversations: their items, and the questions that wait for an answer."""

from __future__ import annotations

import asyncio
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

from pydantic_core import from_json, to_json

from a2a_adapters import InvalidInputError, Limits, ResumeError, StateStorage
from a2a_adapters.concurrency import BoundedMap

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agents import TResponseInputItem

    from a2a_adapters import JSON

_KIND = "openai-agents"
_MAX_BYTES = 256 * 2**20
_MAX_STORED_BYTES = 32 * 2**20
_STAMP = 16
"""How many bytes before the JSON make each write different from all others."""


class ConversationKey(NamedTuple):
    """One caller's conversation. Two owners using one context id have two of them."""

    owner: str
    context_id: str


@dataclass(frozen=True, slots=True)
class Question:
    """A run that waits for its caller's approval.

    Attributes:
        task_id: The task that waits.
        message_id: The message that it was asked upon.
        agent: The name of the agent whose turn it is.
        state: The run, as `RunState.to_string` writes it.
        items: The conversation as far as the run has come.
        begins: How many of them are from before the message.
    """

    task_id: str
    message_id: str
    agent: str
    state: str
    items: Sequence[TResponseInputItem]
    begins: int


@dataclass(frozen=True, slots=True)
class Begun:
    """A run that goes on if its process is gone.

    Attributes:
        task_id: Its task.
        agent: The name of the agent whose turn it is.
        items: The conversation as far as the run has come.
        begins: How many of them are from before the message that is answered.
    """

    task_id: str
    agent: str
    items: Sequence[TResponseInputItem]
    begins: int


@dataclass(frozen=True, slots=True)
class Ended:
    """A run that has ended, whose task may not know it yet.

    Attributes:
        task_id: Its task.
        agent: The name of the agent whose turn was the last.
        begins: How many items of the conversation are from before the message.
        rest: What was told beside what agents have said.
    """

    task_id: str
    agent: str
    begins: int
    rest: Sequence[Mapping[str, JSON]]


@dataclass(frozen=True, slots=True)
class Remembered:
    """What is known of a conversation.

    Attributes:
        items: What was said.
        agent: The name of the agent that the next message is for, "" for the one that is served.
        question: The run that waits for an approval.
        begun: The run that can be gone on with.
        ended: The run that has ended.
    """

    items: Sequence[TResponseInputItem] = ()
    agent: str = ""
    question: Question | None = None
    begun: Begun | None = None
    ended: Ended | None = None

    def settled(self) -> Remembered:
        """Return it without what waits for its end."""
        return Remembered(self.items, self.agent)


class Conversation:
    """One conversation, as it was read; what another process has changed since is never replaced.

    Args:
        storage: Where it is kept.
        key: Whose it is.
        body: What was read there.
    """

    def __init__(self, storage: StateStorage, key: ConversationKey, body: bytes | None) -> None:
        self._storage = storage
        self._key = key
        self._body = body
        self._writing = asyncio.Lock()  # a turn may end while another agent's begins
        self.known = _parsed(body[_STAMP:]) if body else Remembered()

    async def claim(self) -> None:
        """Let nobody who has read it before change it any more.

        Raises:
            ResumeError: Another process has changed it.
        """
        body = self._body[_STAMP:] if self._body else _serialized(self.known)
        await self._swap(body)

    async def keep(self, known: Remembered) -> None:
        """Replace what is known of it.

        Raises:
            InvalidInputError: It is over 32 MiB; the text is told to the caller.
            ResumeError: Another process has changed it.
        """
        body = _serialized(known)
        if len(body) > _MAX_STORED_BYTES:
            raise InvalidInputError("this conversation has become too long; start a new one")
        await self._swap(body)
        self.known = known

    async def _swap(self, body: bytes) -> None:
        stamped = uuid4().bytes + body
        async with self._writing:
            if not await self._storage.swap_state(*self._key, _KIND, self._body, stamped):
                raise ResumeError("Another process has gone on with this conversation.")
            self._body = stamped


class Memory:
    """All conversations, in a storage.

    A question is kept beside the items from before its task, so that giving it up, like a run
    that fails or is cancelled, leaves the conversation as it was.
    """

    def __init__(self, storage: StateStorage) -> None:
        self._storage = storage

    async def recall(self, key: ConversationKey) -> Conversation:
        """Return a conversation."""
        body = await self._storage.read_state(*key, _KIND)
        return Conversation(self._storage, key, body)


def _serialized(known: Remembered) -> bytes:
    return to_json(asdict(known))


def _parsed(body: bytes) -> Remembered:
    value: dict[str, Any] = from_json(body)
    question, begun, ended = value["question"], value["begun"], value["ended"]
    return Remembered(
        value["items"],
        value["agent"],
        Question(**question) if question else None,
        Begun(**begun) if begun else None,
        Ended(**ended) if ended else None,
    )


class ProcessStates(StateStorage):
    """Keeps conversations in this process, and forgets those used least recently.

    Args:
        limits: `conversations` and `history_seconds` bound how many are kept, and how long.
    """

    url = "memory:"
    agent = ""
    is_durable = False

    def __init__(self, limits: Limits | None = None) -> None:
        limits = limits or Limits()
        self._states: BoundedMap[tuple[str, str, str], bytes] = BoundedMap(
            limits.conversations, limits.history_seconds, _MAX_BYTES, len
        )

    async def read_state(self, owner: str, context_id: str, kind: str) -> bytes | None:
        """Return what was last kept for a conversation under this name."""
        return self._states.get((owner, context_id, kind))

    async def write_state(self, owner: str, context_id: str, kind: str, body: bytes | None) -> None:
        """Keep something for a conversation; None forgets it."""
        if body is None:
            self._states.pop((owner, context_id, kind))
        else:
            self._states[owner, context_id, kind] = body

    async def swap_state(
        self, owner: str, context_id: str, kind: str, expected: bytes | None, body: bytes
    ) -> bool:
        """Keep something in the place of what was read, unless that has changed meanwhile."""
        if self._states.get((owner, context_id, kind)) not in (expected, body):
            return False
        self._states[owner, context_id, kind] = body
        return True
