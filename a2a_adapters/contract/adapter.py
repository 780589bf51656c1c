"""The contract between a framework plugin and the runtime."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from a2a_adapters.concurrency.threads import CURRENT_CALLS
from a2a_adapters.contract.caller import Caller
from a2a_adapters.contract.errors import ResumeError
from a2a_adapters.contract.parts import JSON, Data, File, Part, join_text

if TYPE_CHECKING:
    import ssl
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    import httpx
    from a2a.types import Message

    from a2a_adapters.contract.card import AgentDescription
    from a2a_adapters.contract.events import AgentEvent, InputRequired

__all__ = [
    "Adapter", "AgentRequest", "Asking", "CancelFlag", "Exchange", "StateStorage", "Turn",
    "current_request",
]  # fmt: skip


class CancelFlag:
    """True once the task has been cancelled. Safe to read from any thread.

    Attributes:
        is_set: The same as `bool(flag)`, but faster.
        left_behind: Whether the run ignored the cancellation for so long that the conversation has
            moved on to its next message. The run must no longer write conversation state.
    """

    is_set = False
    left_behind = False

    def set(self) -> None:
        """Mark the task as cancelled."""
        self.is_set = True

    def __bool__(self) -> bool:
        return self.is_set


@dataclass(frozen=True, slots=True)
class Turn:
    """An earlier message of a conversation."""

    role: Literal["user", "agent"]
    parts: Sequence[Part]

    @property
    def text(self) -> str:
        """The text parts, one per line."""
        return join_text(self.parts)


async def _may_wait() -> bool:
    """Assume that another task of the context may be waiting (used by servers that cannot tell)."""
    return True


async def _no_exchanges() -> Sequence[Exchange]:
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRequest:
    """A message to an agent, with its task, conversation and caller.

    Attributes:
        parts: The content of the message.
        message: The protocol message, an `a2a.types.Message`.
        task_id: The task of the message.
        context_id: The conversation. It is unique only together with `owner`.
        owner: The authenticated user; empty for anonymous callers.
        caller: The authenticated user with their claims, scopes and headers.
        history: Earlier turns of the conversation, oldest first. Empty unless the adapter sets
            `uses_history`.
        metadata: The metadata of the request.
        accepted_output_modes: Media types the caller accepts; empty means any.
        extensions: URIs of the agent's extensions that the caller activated.
        wants_progress: Whether the caller activated the progress extension. If not, the adapter
            can skip progress events.
        resuming: Whether the task was waiting for this message.
        resume_metadata: The `metadata` of the `InputRequired` event that this message answers.
        cancelled: Becomes true when the task is cancelled; readable from any thread.
        others_wait: Returns whether another task of this conversation may be waiting for its
            caller (always true on servers that cannot tell). If none is, a question still open in
            the framework is abandoned.
        earlier: Returns the earlier messages of this task with the questions that followed them,
            also after a restart. Those with a durable question include their history.
        said: The stored text of the answer to this message. Set only for `Adapter.resume`.
    """

    parts: Sequence[Part]
    message: Message
    task_id: str
    context_id: str
    owner: str = ""
    caller: Caller = field(default_factory=Caller)
    history: Sequence[Turn] = ()
    metadata: Mapping[str, JSON] = field(default_factory=dict)
    accepted_output_modes: Sequence[str] = ()
    extensions: frozenset[str] = frozenset()
    wants_progress: bool = False
    resuming: bool = False
    resume_metadata: Mapping[str, JSON] = field(default_factory=dict)
    cancelled: CancelFlag = field(default_factory=CancelFlag)
    others_wait: Callable[[], Awaitable[bool]] = _may_wait
    earlier: Callable[[], Awaitable[Sequence[Exchange]]] = _no_exchanges
    said: str = ""

    @property
    def text(self) -> str:
        """The text parts, one per line."""
        return join_text(self.parts)

    @property
    def data(self) -> list[JSON]:
        """The values of all data parts."""
        return [part.value for part in self.parts if isinstance(part, Data)]  # type: ignore[misc]

    @property
    def files(self) -> list[File]:
        """All files."""
        return [part for part in self.parts if isinstance(part, File)]

    def detached(self) -> AgentRequest:
        """Return a copy for engines that store a request and run it elsewhere.

        It can be pickled, and has the caller's `owner`, but neither their claims nor their headers.
        """
        stored = {name: getattr(self, name) for name in _STORED}
        return AgentRequest(message=self.message, caller=Caller(owner=self.owner), **stored)

    def __reduce__(self) -> tuple[Any, ...]:
        stored = {name: getattr(self, name) for name in _STORED}
        return _unpickled, (self.message.SerializeToString(), stored)

    def conversation_key(self, *scope: str | None) -> str:
        """Return a digest of owner and context that is safe to use as a storage key.

        `scope` adds names that divide the conversation further, such as an agent's name.
        """
        names = json.dumps([*scope, self.owner, self.context_id])
        return hashlib.sha256(names.encode()).hexdigest()


_STORED = (
    "parts", "task_id", "context_id", "owner", "history", "metadata", "accepted_output_modes",
    "extensions", "wants_progress",
)  # fmt: skip
"""The fields that a request keeps outside of its process."""


def _unpickled(message: bytes, stored: dict[str, Any]) -> AgentRequest:
    from a2a.types import Message  # noqa: PLC0415 - takes a second

    given = Message.FromString(message)
    return AgentRequest(message=given, caller=Caller(owner=stored["owner"]), **stored)


Asking: TypeAlias = AsyncGenerator[object, AgentRequest]
"""The return type of a function that yields results and questions: `yield` returns the answer to a
question."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """A message of a task and the question with which the agent answered it."""

    request: AgentRequest
    question: InputRequired


def current_request() -> AgentRequest | None:
    """Return the request that the calling code is answering, or None outside of an agent's run.

    It works in everything that an agent runs: tools, nodes, callbacks, and threads that inherit
    context variables. After a question it is the caller's answer.
    """
    calls = CURRENT_CALLS.get()
    return calls.request if calls is not None else None


class FetchPolicy(Protocol):
    """An outbound policy that restricts fetching, such as `OutboundPolicy`."""

    def client(self, *, ssl_context: ssl.SSLContext | None = None) -> httpx.AsyncClient:
        """Return a client that connects only to allowed addresses."""


class Adapter(ABC):
    """Makes a target answer A2A messages. Framework plugins subclass it.

    One adapter serves all callers concurrently, so it must not hold request state except under the
    key (owner, context_id). Requests of one conversation arrive one at a time.
    """

    may_reply: bool = False
    """Whether `stream` may yield a `Reply`. The client then sees the task with the first event
    instead of immediately."""

    blocks: bool = False
    """Whether each run begins with `run_in_thread`. Its task is "submitted" until it has a thread,
    and its time counts from then."""

    uses_history: bool = False
    """Whether requests need `AgentRequest.history`."""

    holds_text: bool = False
    """Whether a guardrail, a hook or a similar part of the target may still change or block text
    that has been streamed. Text, files and data are then sent when an `AnswerText` event accepts
    the text, or when the stream ends normally. Before a rejection or a failure they are dropped;
    before a question, only the text is."""

    resumes: bool = False
    """Whether `resume` can continue a run whose process died."""

    fetch: FetchPolicy | None = None
    """The policy for fetching files that callers send as URLs, so that the adapter receives their
    bytes. Without a policy, `File.received` refuses them."""

    @abstractmethod
    def describe(self) -> AgentDescription:
        """Return the description for the agent card. Called once, before serving."""

    @abstractmethod
    def stream(self, request: AgentRequest) -> AsyncGenerator[AgentEvent, AgentRequest | None]:
        """Answer `request`, yielding events as they happen.

        Implement it as an async generator, or as a function that returns one. A function can raise
        `InvalidInputError` before the task exists; the caller then gets "invalid params".

        Raises:
            InvalidInputError: The message cannot be used. The text is sent to the caller.
        """

    def resume(
        self,
        request: AgentRequest,  # noqa: ARG002 - most cannot
    ) -> AsyncGenerator[AgentEvent, AgentRequest | None]:
        """Continue the run of a dead process, yielding events as `stream` does.

        Called only if `resumes` is set, by the process that takes the task over. The stored part of
        the answer (`AgentRequest.said`, possibly without its end) is discarded, so yield the whole
        answer.

        Raises:
            ResumeError: The run cannot be continued. The task fails with this text.
        """
        raise ResumeError("The server was stopped; please start a new task.")

    async def had_effect(self, request: AgentRequest) -> bool:  # noqa: ARG002 - few can tell
        """Return whether the interrupted run did anything before its process died.

        A death without effect does not count towards `Limits.recovery_attempts`.
        """
        return True

    async def open(self, storage: StateStorage) -> None:  # noqa: B027 - most store nothing
        """Receive the server's state storage.

        Called at each start, in the event loop of the server, which may differ from that of an
        earlier start. Servers of other projects, which use the adapter through `as_executor`, do
        not call it.

        Raises:
            ConfigurationError: The adapter cannot use this storage.
        """

    async def abandon(self, request: AgentRequest) -> None:  # noqa: B027 - most store nothing
        """Discard a durable question that will not be answered.

        Called when a task that waits on a durable `InputRequired` is cancelled or times out, in the
        conversation's turn. `request` has no parts, but the question's `resume_metadata`.
        """

    async def aclose(self) -> None:  # noqa: B027 - most adapters hold nothing
        """Release the adapter's resources; it may be opened again. Called when serving ends."""


ELSEWHERE = "elsewhere:"
"""Prefix of the `kind` of entries that point to state in a framework's own store."""


class StateStorage(ABC):
    """Stores the state that one agent keeps for its conversations.

    State is isolated by agent, owner and context. A database deletes it with its conversation;
    state under the context id "" belongs to no conversation and is never deleted.

    Attributes:
        url: The URL of the server's storage, for frameworks with a store of their own: `memory:`,
            `sqlite:///file.db` or `postgresql://user:password@host/database`.
        agent: The agent's name, part of every key.
        is_durable: Whether the state survives its process.
    """

    url: str
    agent: str
    is_durable: bool

    @abstractmethod
    async def read_state(self, owner: str, context_id: str, kind: str) -> bytes | None:
        """Return the stored state of this kind, or None."""

    @abstractmethod
    async def write_state(self, owner: str, context_id: str, kind: str, body: bytes | None) -> None:
        """Store state of this kind, or delete it if `body` is None.

        Returns when it is stored. While the database is unavailable, this waits.
        """

    @abstractmethod
    async def swap_state(
        self, owner: str, context_id: str, kind: str, expected: bytes | None, body: bytes
    ) -> bool:
        """Replace state that several processes may change, unless it has changed.

        If it returns false, read the state again and retry.

        Args:
            owner: The owner of the conversation.
            context_id: The conversation.
            kind: The kind of state.
            expected: The state as it was read; None if there was none.
            body: The new state. Make each one unique: because the call may be retried internally,
                finding `body` in place counts as success.

        Returns:
            Whether `body` was stored.
        """

    async def keep_elsewhere(self, owner: str, context_id: str, kind: str, name: str) -> None:
        """Record that the conversation has state called `name` in another store.

        Call it at each use, so that the record is as old as the conversation.
        """
        await self.write_state(owner, context_id, ELSEWHERE + kind, name.encode())

    def forget_elsewhere(  # noqa: B027 - memory keeps no state beyond its process
        self, kind: str, forget: Callable[[str], Awaitable[None]]
    ) -> None:
        """Register `forget`, which deletes state in another store when its conversation expires.

        It gets the name given to `keep_elsewhere` and may be called repeatedly for the same name.
        """
