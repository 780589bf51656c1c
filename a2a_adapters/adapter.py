"""The contract between a framework plugin and the runtime."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from a2a_adapters.parts import JSON, Part, join_text

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping, Sequence

    from a2a.types import Message

    from a2a_adapters.events import AgentEvent

__all__ = [
    "Adapter",
    "AgentDescription",
    "AgentRequest",
    "CancelFlag",
    "Extension",
    "Skill",
    "Turn",
]

_DEFAULT_INPUT_MODES = ("text/plain", "application/json")
_DEFAULT_OUTPUT_MODES = ("text/plain", "application/json")


@dataclass(frozen=True, slots=True, kw_only=True)
class Skill:
    """One thing the agent can do, as its card lists it."""

    id: str
    name: str
    description: str
    tags: Sequence[str] = ()
    examples: Sequence[str] = ()


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
    """True once the task was cancelled. Safe to read from any thread."""

    __slots__ = ("_cancelled",)

    def __init__(self) -> None:
        self._cancelled = False

    def set(self) -> None:
        """Tell everyone who looks that the task was cancelled."""
        self._cancelled = True

    def __bool__(self) -> bool:
        return self._cancelled


@dataclass(frozen=True, slots=True)
class Turn:
    """One earlier message of a conversation."""

    role: Literal["user", "agent"]
    parts: Sequence[Part]

    @property
    def text(self) -> str:
        """The text parts, one per line."""
        return join_text(self.parts)


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
        extensions: URIs of the extensions the caller activated.
        wants_progress: Whether the caller activated the progress extension. Events of it
            need not be made when this is false.
        resuming: Whether the task was waiting for this message.
        resume_metadata: The `metadata` of the `InputRequired` event that is being answered.
        cancelled: True as soon as the task is cancelled; code in threads looks at it.
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

    @property
    def text(self) -> str:
        """The text parts, one per line."""
        return join_text(self.parts)


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

    async def abandon(self, request: AgentRequest) -> None:  # noqa: B027 - most store nothing
        """Give up a durable question that will not be answered.

        Called when a task is cancelled, or has waited too long, after an `InputRequired` with
        `durable` set. `request` has no parts, but the question's `resume_metadata`; it is the
        conversation's turn.
        """

    async def aclose(self) -> None:  # noqa: B027 - most adapters hold nothing
        """Release what the adapter holds. Called once, when serving ends."""
