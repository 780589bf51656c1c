"""The contract between a framework plugin and the runtime."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

from a2a_adapters.contract.errors import ResumeError
from a2a_adapters.contract.parts import JSON, Part, join_text

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence

    import httpx
    from a2a.types import Message

    from a2a_adapters.contract.events import AgentEvent, InputRequired

__all__ = [
    "Adapter",
    "AgentDescription",
    "AgentRequest",
    "CancelFlag",
    "Exchange",
    "Extension",
    "Skill",
    "StateStorage",
    "Turn",
]

_DEFAULT_INPUT_MODES = ("text/plain", "application/json")
_DEFAULT_OUTPUT_MODES = ("text/plain", "application/json")


@dataclass(frozen=True, slots=True, kw_only=True)
class Skill:
    """One thing the agent can do, as its card lists it.

    `input_schema` and `output_schema` are the JSON schemas of the data that it takes and returns.
    A2A's skills have no field for them, so the card adds them to the description.
    """

    id: str
    name: str
    description: str
    tags: Sequence[str] = ()
    examples: Sequence[str] = ()
    input_schema: Mapping[str, JSON] | None = None
    output_schema: Mapping[str, JSON] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Extension:
    """A protocol extension of the agent (A2A 1.0, section 4.6), as its card lists it.

    Messages of callers that do not activate a `required` one are refused.
    """

    uri: str
    description: str = ""
    required: bool = False
    params: Mapping[str, JSON] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentDescription:
    """What an adapter tells the public about its target. Never put a prompt in here.

    `input_modes` and `output_modes` are media types; `*/*` accepts anything.
    """

    name: str
    description: str
    version: str = "1.0.0"
    skills: Sequence[Skill] = ()
    extensions: Sequence[Extension] = ()
    input_modes: Sequence[str] = _DEFAULT_INPUT_MODES
    output_modes: Sequence[str] = _DEFAULT_OUTPUT_MODES


class CancelFlag:
    """True once the task was cancelled. Safe to read from any thread.

    Attributes:
        left_behind: Whether the run took no notice, so that the conversation was given to the
            next message: nothing may be written to its state any more.
    """

    __slots__ = ("is_set", "left_behind")

    def __init__(self) -> None:
        self.is_set = False
        """The same, for those who look often."""
        self.left_behind = False

    def set(self) -> None:
        """Tell everyone who looks that the task was cancelled."""
        self.is_set = True

    def __bool__(self) -> bool:
        return self.is_set


@dataclass(frozen=True, slots=True)
class Turn:
    """One earlier message of a conversation."""

    role: Literal["user", "agent"]
    parts: Sequence[Part]

    @property
    def text(self) -> str:
        """The text parts, one per line."""
        return join_text(self.parts)


async def might_wait() -> bool:
    """Tell of a conversation of which nothing is known that another task of it might wait."""
    return True


async def nothing_earlier() -> Sequence[Exchange]:
    """Tell of a task's first message that there was none before."""
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRequest:
    """One message to an agent and everything known about it.

    Attributes:
        parts: What the caller sent.
        message: The protocol message itself, an `a2a.types.Message`.
        task_id: The task this message belongs to.
        context_id: The conversation; unique only together with `owner`.
        owner: The authenticated user's name, empty for anonymous callers.
        history: Earlier turns of the conversation, oldest first; empty unless the adapter
            sets `uses_history`.
        metadata: What the caller attached to the request.
        accepted_output_modes: Media types the caller can use; empty means any.
        extensions: URIs of those of the agent's extensions that the caller activated.
        wants_progress: Whether the caller activated the progress extension. Events of it
            need not be made when this is false.
        resuming: Whether the task was waiting for this message.
        resume_metadata: The `metadata` of the `InputRequired` event that is being answered.
        cancelled: True as soon as the task is cancelled; code in threads looks at it.
        others_wait: Tells whether another task of this conversation is known to wait for its
            caller; a server other than ours knows of none. A question that a framework still
            has open, when none does, is nobody's any more.
        earlier: Returns the messages of this task before this one, each with what the agent asked
            upon it, also after a restart; those with a durable question have their history.
        said: In `Adapter.resume`: the text that was stored of this message's answer.
    """

    parts: Sequence[Part]
    message: Message
    task_id: str
    context_id: str
    owner: str = ""
    history: Sequence[Turn] = ()
    metadata: Mapping[str, JSON] = field(default_factory=dict)
    accepted_output_modes: Sequence[str] = ()
    extensions: frozenset[str] = frozenset()
    wants_progress: bool = False
    resuming: bool = False
    resume_metadata: Mapping[str, JSON] = field(default_factory=dict)
    cancelled: CancelFlag = field(default_factory=CancelFlag)
    others_wait: Callable[[], Awaitable[bool]] = might_wait
    earlier: Callable[[], Awaitable[Sequence[Exchange]]] = nothing_earlier
    said: str = ""

    @property
    def text(self) -> str:
        """The text parts, one per line."""
        return join_text(self.parts)

    def conversation_key(self, *scope: str | None) -> str:
        """Return a digest that only this owner's conversation has, whatever the names contain.

        `scope` are names that divide the conversation further, that of an agent for instance.
        """
        names = json.dumps([*scope, self.owner, self.context_id])
        return hashlib.sha256(names.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Exchange:
    """A message of a task, and the question that was the answer to it."""

    request: AgentRequest
    question: InputRequired


class FetchPolicy(Protocol):
    """Where files may be fetched from: an `OutboundPolicy`."""

    def client(self, *, ssl_context: ssl.SSLContext | None = None) -> httpx.AsyncClient:
        """Return a client that connects nowhere else."""


class Adapter(ABC):
    """Makes one target answer A2A messages. Framework plugins subclass this.

    One adapter serves every caller at once: nothing of a request may be kept on it except
    under the key (owner, context_id). Requests of one such conversation come one at a time.
    """

    may_reply: bool = False
    """Whether `stream` may yield a `Reply`. The task is then announced with the first event
    instead of at once."""

    uses_history: bool = False
    """Whether requests need `AgentRequest.history`."""

    resumes: bool = False
    """Whether `resume` can go on with what a process that is gone has begun."""

    fetch: FetchPolicy | None = None
    """From where files that callers name by their addresses are fetched; the adapter then has
    their bytes. Without it they stay addresses, which `File.received` refuses."""

    @abstractmethod
    def describe(self) -> AgentDescription:
        """Return what the agent card says. Called once, before serving."""

    @abstractmethod
    def stream(self, request: AgentRequest) -> AsyncGenerator[AgentEvent, AgentRequest | None]:
        """Answer `request`, yielding events as they happen.

        A generator, or a function returning one. The latter can raise `InvalidInputError`
        before a task exists, which the caller sees as "invalid params".

        Raises:
            InvalidInputError: The message cannot be used; its text is sent to the caller.
        """

    def resume(
        self,
        request: AgentRequest,  # noqa: ARG002 - most cannot
    ) -> AsyncGenerator[AgentEvent, AgentRequest | None]:
        """Go on with a message that a process which is gone was answering; as `stream`.

        Called only if `resumes` is set, on whichever process takes the task over. What was said
        in answer to this message is dropped: yield again what is still to be part of the answer.
        `AgentRequest.said` is the text that was stored of it, which may lack its end.

        Raises:
            ResumeError: Nothing is left to go on with; the task fails with this text.
        """
        raise ResumeError("The server was stopped; please start a new task.")

    async def had_effect(self, request: AgentRequest) -> bool:  # noqa: ARG002 - few can tell
        """Whether the run that `resume` would go on with did anything before its process died.

        If not, its death is not held against the task, which is otherwise failed once it has lost
        too many processes.
        """
        return True

    async def open(self, storage: StateStorage) -> None:  # noqa: B027 - most store nothing
        """Take where the server keeps states, to keep this adapter's own there.

        Called once before serving, in the server's event loop; never on a server that is not ours.

        Raises:
            ConfigurationError: It cannot be used.
        """

    async def abandon(self, request: AgentRequest) -> None:  # noqa: B027 - most store nothing
        """Give up a durable question that will not be answered.

        Called when a task is cancelled, or has waited too long, after an `InputRequired` with
        `durable` set. `request` has no parts, but the question's `resume_metadata`; it is the
        conversation's turn.
        """

    async def aclose(self) -> None:  # noqa: B027 - most adapters hold nothing
        """Release what the adapter holds. Called once, when serving ends."""


ELSEWHERE = "elsewhere:"
"""Begins the name of what only tells where something else is kept."""


class StateStorage(ABC):
    """What one agent keeps of its conversations, apart from what other agents do.

    A database keeps for as long as it exists what is stored for no conversation, whose id is "".

    Attributes:
        url: Where the server's storage is, for frameworks that bring a store of their own:
            `memory:`, `sqlite:///file.db` or `postgresql://user:password@host/database`.
        agent: The agent's name, which is part of every key.
        is_durable: Whether it outlives its process.
    """

    url: str
    agent: str
    is_durable: bool

    @abstractmethod
    async def read_state(self, owner: str, context_id: str, kind: str) -> bytes | None:
        """Return what was last stored for a conversation under this name."""

    @abstractmethod
    async def write_state(self, owner: str, context_id: str, kind: str, body: bytes | None) -> None:
        """Store something for a conversation; None forgets it.

        Waits until it is stored: if the database is away, until it is back.
        """

    @abstractmethod
    async def swap_state(
        self, owner: str, context_id: str, kind: str, expected: bytes | None, body: bytes
    ) -> bool:
        """Store something in the place of what was read, unless that has changed meanwhile.

        For what several processes change: who is told False reads again, and tries again.

        Args:
            owner: Whose conversation it is.
            context_id: The conversation.
            kind: The name.
            expected: What was read; None for nothing.
            body: What is to be there. One that is there already counts as stored by this call,
                which may have been repeated: let each be different.

        Returns:
            Whether it is stored.
        """

    async def keep_elsewhere(self, owner: str, context_id: str, kind: str, name: str) -> None:
        """Note that more of a conversation is kept elsewhere, under a name; say so at each use."""
        await self.write_state(owner, context_id, ELSEWHERE + kind, name.encode())

    def forget_elsewhere(  # noqa: B027 - who forgets nothing for its age has nobody to tell
        self, kind: str, forget: Callable[[str], Awaitable[None]]
    ) -> None:
        """Have `forget` called with names of this kind once their conversations are too old.

        It may be called again with the same name.
        """
