"""Stores conversations: their messages and open questions."""

from __future__ import annotations

from uuid import uuid4

from pydantic import BaseModel, ConfigDict, Field, JsonValue
from pydantic_ai import DeferredToolRequests, ModelMessage, RunUsage

from a2a_adapters import AgentRequest, InvalidInputError, Limits, ResumeError, StateStorage
from a2a_adapters.concurrency import BoundedMap

_KIND = "pydantic-ai"
_MAX_BYTES = 256 * 2**20
_MAX_STORED_BYTES = 32 * 2**20
_STAMP = 16
"""The number of random bytes before the JSON, which make each write unique."""


class Paused(BaseModel):
    """A run that waits for its caller.

    Attributes:
        task_id: The task that waits.
        messages: The conversation, up to the current point of the run.
        requests: The calls that wait.
        answers: The answers so far, by the id of the call: for an approval true, false, or the
            reason why not; for any other call its result.
        usage: The usage of the run so far.
    """

    task_id: str
    messages: list[ModelMessage]
    requests: DeferredToolRequests
    answers: dict[str, JsonValue] = Field(default_factory=dict)
    usage: RunUsage


class Remembered(BaseModel):
    """The stored data of a conversation.

    Attributes:
        messages: The messages of completed runs.
        paused: The run that waits.
    """

    model_config = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")

    messages: list[ModelMessage] = Field(default_factory=list)
    paused: Paused | None = None

    def settled(self) -> Remembered:
        """Return a copy without its waiting run."""
        return Remembered.model_construct(messages=self.messages)


class Conversation:
    """One conversation. A write fails if another process has changed it since it was read.

    Args:
        storage: Holds the conversation.
        key: The owner and the context id.
        body: The stored bytes; None if there are none.
    """

    def __init__(self, storage: StateStorage, key: tuple[str, str], body: bytes | None) -> None:
        self._storage = storage
        self._key = key
        self._body = body
        self.known = Remembered.model_validate_json(body[_STAMP:]) if body else Remembered()

    async def claim(self) -> None:
        """Invalidate all earlier reads, so that their writes fail.

        Raises:
            ResumeError: Another process has changed it.
        """
        await self._swap(self._body[_STAMP:] if self._body else _serialized(self.known))

    async def keep(self, known: Remembered) -> None:
        """Store new data.

        Raises:
            InvalidInputError: The data is over 32 MiB. The caller receives the text.
            ResumeError: Another process has changed it.
        """
        body = _serialized(known)
        if len(body) > _MAX_STORED_BYTES:
            raise InvalidInputError("this conversation has become too long; start a new one")
        await self._swap(body)
        self.known = known

    async def _swap(self, body: bytes) -> None:
        stamped = uuid4().bytes + body
        if not await self._storage.swap_state(*self._key, _KIND, self._body, stamped):
            raise ResumeError("Another process has continued this conversation.")
        self._body = stamped


async def recall(storage: StateStorage, request: AgentRequest) -> Conversation:
    """Return the conversation of a request."""
    key = request.owner, request.context_id
    return Conversation(storage, key, await storage.read_state(*key, _KIND))


def _serialized(known: Remembered) -> bytes:
    return known.model_dump_json().encode()


class ProcessStates(StateStorage):
    """Keeps conversations in this process, and evicts the least recently used.

    Args:
        limits: `conversations` and `history_seconds` bound their number and age.
    """

    url = "memory:"
    agent = ""
    is_durable = False

    def __init__(self, limits: Limits) -> None:
        self._states: BoundedMap[tuple[str, ...], bytes] = BoundedMap(
            limits.conversations, limits.history_seconds, _MAX_BYTES, len
        )

    async def read_state(self, owner: str, context_id: str, kind: str) -> bytes | None:
        """Return the state of this kind; None if there is none."""
        return self._states.get((owner, context_id, kind))

    async def write_state(self, owner: str, context_id: str, kind: str, body: bytes | None) -> None:
        """Store a state; None deletes it."""
        if body is None:
            self._states.pop((owner, context_id, kind))
        else:
            self._states[owner, context_id, kind] = body

    async def swap_state(
        self, owner: str, context_id: str, kind: str, expected: bytes | None, body: bytes
    ) -> bool:
        """Replace a state, unless it is no longer `expected`."""
        if self._states.get((owner, context_id, kind)) not in (expected, body):
            return False
        self._states[owner, context_id, kind] = body
        return True
