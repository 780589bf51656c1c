"""What an adapter may yield while it answers.

| event                           | what the A2A client sees                                  |
|---------------------------------|-----------------------------------------------------------|
| `TextDelta`                     | a chunk of the artifact `answer`, appended                |
| `Output`                        | an artifact of its own, whole                             |
| `TaskMetadata`                  | entries of the task's metadata, token usage for instance  |
| `Progress`                      | what happens meanwhile, if `PROGRESS_EXTENSION` is active |
| `ToolCall`, `ToolResult`        | the same for tools                                        |
| `InputRequired`, `AuthRequired` | the task waits; the next message on it goes on            |
| `Rejected`                      | the task ends as rejected                                 |
| `Reply`                         | a bare message, no task; only as the one and only event   |

A failure is an exception. An adapter that ends without any event completes its task.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Self

    from a2a_adapters.contract.parts import JSON, Part

__all__ = [
    "A2UI_EXTENSION",
    "ANOTHER_TASK_WAITS",
    "PROGRESS_EXTENSION",
    "QUESTION_CLOSED",
    "TIMESTAMP_EXTENSION",
    "AgentEvent",
    "AuthRequired",
    "InputRequired",
    "Output",
    "Progress",
    "ProgressEvent",
    "Rejected",
    "Reply",
    "TaskMetadata",
    "TextDelta",
    "TokenUsage",
    "ToolCall",
    "ToolResult",
]

PROGRESS_EXTENSION = "urn:a2a-adapters:extension:progress:v1"
"""URI of the A2A extension that carries `Progress`, `ToolCall` and `ToolResult`."""


A2UI_EXTENSION = "https://a2ui.org/a2a-extension/a2ui/v0.9.1"
"""URI of the A2A extension by which interfaces are sent, as data of an `Output`."""


TIMESTAMP_EXTENSION = "https://github.com/a2aproject/a2a-samples/samples/extensions/timestamp/v1"
"""URI of the A2A extension that says when messages and artifacts were made, in their metadata."""


@dataclass(frozen=True, slots=True)
class TextDelta:
    """The next piece of the answer's text."""

    text: str


@dataclass(frozen=True, slots=True)
class Output:
    """A whole artifact.

    `extensions` are the URIs of those that it is made by, as of messages below; the caller is told
    of the ones that they activated (A2A 1.0, section 4.6).
    """

    parts: Sequence[Part]
    name: str = ""
    description: str = ""
    metadata: Mapping[str, JSON] = field(default_factory=dict, kw_only=True)
    extensions: Sequence[str] = field(default=(), kw_only=True)


@dataclass(frozen=True, slots=True)
class TaskMetadata:
    """Entries merged into the task's metadata when it next changes state.

    By convention `usage` holds the numbers of a `TokenUsage`.
    """

    values: Mapping[str, JSON]


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """How many tokens the models of a task took."""

    input_tokens: int = 0
    output_tokens: int = 0
    total_tokens: int = 0

    @classmethod
    def of(cls, metadata: Mapping[str, JSON]) -> Self | None:
        """Return the usage in a task's metadata, None if it has none."""
        match metadata.get("usage"):
            case {"input_tokens": int(given), "output_tokens": int(made), **rest}:
                total = rest.get("total_tokens")
                return cls(given, made, total if isinstance(total, int) else given + made)
            case _:
                return None

    def __add__(self, other: TokenUsage) -> TokenUsage:
        return TokenUsage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.total_tokens + other.total_tokens,
        )

    def as_metadata(self) -> dict[str, JSON]:
        """Return the entry for `TaskMetadata`, or for the metadata of a question."""
        return {"usage": asdict(self)}


@dataclass(frozen=True, slots=True)
class Progress:
    """A step or any other news of the run."""

    text: str = ""
    data: JSON = None


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool is about to run."""

    id: str
    name: str
    arguments: JSON = None


@dataclass(frozen=True, slots=True)
class ToolResult:
    """A tool has run."""

    id: str
    name: str
    result: JSON = None
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class InputRequired:
    """The agent asks its caller and waits for the answer.

    In a generator that stays alive, `answer = yield InputRequired("Which city?")` receives the
    caller's next message as an `AgentRequest`. An adapter that has stored its state instead
    sets `durable`, ends after this event, and is called again with `AgentRequest.resuming`
    set and this event's `metadata` as `AgentRequest.resume_metadata`, even after a restart.

    `prompt` is the question as text; `parts` follow it in the message. A generator that can do
    both sets `waits`, too: as long as its process lives it receives the answer, and is called
    again only after a restart.
    """

    prompt: str
    parts: Sequence[Part] = ()
    metadata: Mapping[str, JSON] = field(default_factory=dict, kw_only=True)
    durable: bool = field(default=False, kw_only=True)
    waits: bool = field(default=False, kw_only=True)
    extensions: Sequence[str] = field(default=(), kw_only=True)


@dataclass(frozen=True, slots=True)
class AuthRequired(InputRequired):
    """Like `InputRequired`, but what is missing is an authorisation.

    That the task waited and was answered authorises nothing by itself (A2A after 1.0.1, section
    7.6): check what the answer holds, or what came by another way, and take it for no more than
    what was asked. The next message on the task needs a check of its own.
    """


@dataclass(frozen=True, slots=True)
class Rejected:
    """The agent declines the task; the reason is told to the caller."""

    reason: str


ANOTHER_TASK_WAITS = Rejected(
    "Another task of this conversation waits for an answer. Answer or cancel that one, or "
    "use another conversation."
)
"""The answer to a new task of a conversation that can have only one question open."""

QUESTION_CLOSED = Rejected("This question is no longer open; please start a new task.")
"""The answer to a reply that comes too late."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A bare message in place of a task.

    Only adapters with `may_reply` set can send one. After a task has begun, its parts become
    an output of that task instead.
    """

    parts: Sequence[Part]
    metadata: Mapping[str, JSON] = field(default_factory=dict, kw_only=True)
    extensions: Sequence[str] = field(default=(), kw_only=True)


ProgressEvent: TypeAlias = Progress | ToolCall | ToolResult
"""Events that travel in `PROGRESS_EXTENSION`."""

AgentEvent: TypeAlias = (
    TextDelta
    | Output
    | TaskMetadata
    | ProgressEvent
    | InputRequired
    | AuthRequired
    | Rejected
    | Reply
)
"""Anything `Adapter.stream` may yield."""
