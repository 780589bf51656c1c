"""The events that an adapter yields while it answers.

| event                           | the A2A client sees                                           |
|---------------------------------|---------------------------------------------------------------|
| `TextDelta`                     | a chunk appended to the artifact `answer`                     |
| `AnswerText`                    | the same artifact, corrected if it differs from what was sent |
| `Output`                        | a complete artifact                                           |
| `TaskMetadata`                  | entries in the task's metadata, such as token usage           |
| `Progress`                      | a step of the run, if `PROGRESS_EXTENSION` is active          |
| `ToolCall`, `ToolResult`        | the same for tools                                            |
| `InputRequired`, `AuthRequired` | the task is interrupted; the next message on it continues it  |
| `Rejected`                      | the task is rejected                                          |
| `Reply`                         | a message without a task; must be the only event              |

The artifacts are in the order of the events: text behind an `Output` begins another artifact.

An adapter reports failure by raising. If it ends normally, its task is completed.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Self

    from a2a_adapters.contract.parts import JSON, Part

__all__ = [
    "A2UI_EXTENSION", "ANOTHER_TASK_WAITS", "HELD_TEXT_EXTENSION", "PROGRESS_EXTENSION",
    "QUESTION_CLOSED", "TIMESTAMP_EXTENSION", "AgentEvent", "AnswerText", "AuthRequired",
    "InputRequired", "Output", "Progress", "ProgressEvent", "Rejected", "Reply", "TaskMetadata",
    "TextDelta", "TokenUsage", "ToolCall", "ToolResult",
]  # fmt: skip

PROGRESS_EXTENSION = "urn:a2a-adapters:extension:progress:v1"
"""URI of the A2A extension that carries `Progress`, `ToolCall` and `ToolResult`."""


HELD_TEXT_EXTENSION = "urn:a2a-adapters:extension:held-text:v1"
"""URI of the A2A extension by which a card declares that guardrails accept text first."""


HoldText: TypeAlias = Literal["guarded", "always", "never"]
"""Which text a server holds back until the framework has accepted it; see `ServerOptions`."""


A2UI_EXTENSION = "https://a2ui.org/a2a-extension/a2ui/v0.9.1"
"""URI of the A2A extension that carries user interfaces as data of an `Output`."""


TIMESTAMP_EXTENSION = "https://github.com/a2aproject/a2a-samples/samples/extensions/timestamp/v1"
"""URI of the A2A extension that adds creation times to the metadata of messages and artifacts."""


@dataclass(frozen=True, slots=True)
class TextDelta:
    """The next chunk of the answer's text.

    Line breaks that separate it from the text before an `Output` are left out.

    If the adapter `holds_text`, neither it nor an `Output` is sent before an `AnswerText` or the
    end of the stream.
    """

    text: str


@dataclass(frozen=True, slots=True)
class AnswerText:
    """The whole text of the answer so far, as the framework has accepted it.

    It replaces every `TextDelta` and `AnswerText` before it. The client receives the part that is
    new or, if its text differs from what was sent, the corrected artifact in place of the earlier
    one (A2A 1.0, section 4.2.2: `append` is false). Yield it

    - after the framework has accepted a message, if the adapter `holds_text`;
    - without the text of a failed attempt, when the next attempt starts;
    - at the end, if the framework's result may differ from what it streamed.

    Args:
        text: The text; empty to withdraw all of it.
        of_task: Whether `text` also contains the answers to the task's earlier messages, which a
            framework may change when it resumes after a question.
    """

    text: str
    of_task: bool = False


@dataclass(frozen=True, slots=True)
class Output:
    """A complete artifact.

    `extensions` are URIs of the extensions that contributed to it (A2A 1.0, section 4.6). Only
    those that the caller activated are sent; the same holds for questions and replies.
    """

    parts: Sequence[Part]
    name: str = ""
    description: str = ""
    metadata: Mapping[str, JSON] = field(default_factory=dict, kw_only=True)
    extensions: Sequence[str] = field(default=(), kw_only=True)


@dataclass(frozen=True, slots=True)
class TaskMetadata:
    """Entries to merge into the task's metadata at its next change of state.

    By convention `usage` holds a `TokenUsage`.
    """

    values: Mapping[str, JSON]


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Number of tokens that the models of a task used."""

    input_tokens: int = 0
    output_tokens: int = 0
    total_tokens: int = 0

    @classmethod
    def of(cls, metadata: Mapping[str, JSON]) -> Self | None:
        """Return the usage in a task's metadata, or None."""
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
        """Return the usage as an entry of `TaskMetadata` or of a question's metadata."""
        return {"usage": asdict(self)}


@dataclass(frozen=True, slots=True)
class Progress:
    """A step or other news of the run."""

    text: str = ""
    data: JSON = None


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call starts."""

    id: str
    name: str
    arguments: JSON = None


@dataclass(frozen=True, slots=True)
class ToolResult:
    """A tool call has finished."""

    id: str
    name: str
    result: JSON = None
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class InputRequired:
    """The agent asks its caller a question; the task waits for the answer.

    There are two ways to get the answer:

    - A generator that stays alive: `answer = yield InputRequired("Which city?")` returns the
      caller's next message as an `AgentRequest`.
    - An adapter that stores its state sets `durable` and ends after this event. It is called again,
      even after a restart, with `AgentRequest.resuming` set and this event's `metadata` as
      `AgentRequest.resume_metadata`.

    A generator that supports both also sets `waits`: it receives the answer while its process
    lives, and is called again only after a restart. In the message, `parts` follow the `prompt`.
    """

    prompt: str
    parts: Sequence[Part] = ()
    metadata: Mapping[str, JSON] = field(default_factory=dict, kw_only=True)
    durable: bool = field(default=False, kw_only=True)
    waits: bool = field(default=False, kw_only=True)
    extensions: Sequence[str] = field(default=(), kw_only=True)


@dataclass(frozen=True, slots=True)
class AuthRequired(InputRequired):
    """Like `InputRequired`, but the agent needs an authorisation.

    An answer by itself authorises nothing (A2A after 1.0.1, section 7.6). Verify its content, or
    the credentials received out of band, and apply them only to what was requested. Verify the
    next message on the task again.
    """


@dataclass(frozen=True, slots=True)
class Rejected:
    """The agent declines the task. The reason is sent to the caller."""

    reason: str


ANOTHER_TASK_WAITS = Rejected(
    "Another task of this conversation waits for an answer. Answer or cancel that one, or "
    "use another conversation."
)
"""Rejects a new task in a conversation that can have only one open question."""

QUESTION_CLOSED = Rejected("This question is no longer open; please start a new task.")
"""Rejects an answer to a question that is no longer open."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A message in place of a task, from adapters that set `may_reply`.

    Once a task has started, the parts become an output of that task instead.
    """

    parts: Sequence[Part]
    metadata: Mapping[str, JSON] = field(default_factory=dict, kw_only=True)
    extensions: Sequence[str] = field(default=(), kw_only=True)


ProgressEvent: TypeAlias = Progress | ToolCall | ToolResult
"""The events that `PROGRESS_EXTENSION` carries."""

AgentEvent: TypeAlias = (
    TextDelta
    | AnswerText
    | Output
    | TaskMetadata
    | ProgressEvent
    | InputRequired
    | AuthRequired
    | Rejected
    | Reply
)
"""Any event that `Adapter.stream` may yield."""
