"""The answers of remote agents."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from a2a_adapters.contract.events import ProgressEvent, TextDelta, TokenUsage
from a2a_adapters.contract.parts import JSON, Data, File, Part, join_text
from a2a_adapters.contract.text import as_text

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

ReplyState: TypeAlias = Literal[
    "submitted",
    "working",
    "completed",
    "input-required",
    "auth-required",
    "failed",
    "rejected",
    "canceled",
    "unknown",
]
"""The state of a task (A2A 1.0, section 4.1.3). A bare message counts as completed."""

WAITING: Collection[ReplyState] = frozenset({"input-required", "auth-required"})
"""The states of a task that waits for its caller."""


@dataclass(frozen=True, slots=True)
class Question(TextDelta):
    """The agent's question, which ends the text of a stream."""


@dataclass(frozen=True, slots=True)
class LaterText(TextDelta):
    """Text that arrives behind a file or data, which only the complete answer has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteArtifact:
    """A result of a task. `extensions` are URIs of the extensions that contributed to it."""

    id: str
    parts: Sequence[Part]
    name: str = ""
    description: str = ""
    metadata: Mapping[str, JSON] = field(default_factory=dict)
    extensions: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentReply:
    """The complete answer to a message.

    Attributes:
        text: The text of the artifacts, or else of the agent's message. If the task waits, it ends
            with the question.
        parts: All parts of the answer in order: text, files and data.
        state: The state of the task.
        task_id: The remote task; "" if the agent answered with a bare message.
        context_id: The remote conversation.
        metadata: The metadata of the task or bare message.
        status_parts: The message of the task's last status: a question, a closing remark, or the
            reason of a failure.
        artifacts: The individual results; empty for a bare message.
        is_corrected: Whether the agent replaced text that a stream had yielded: `text` is then not
            the joined text of the stream.
        counted_by: The modules that reported `usage` to their framework, see `counted_usage`.
    """

    text: str
    parts: Sequence[Part] = ()
    state: ReplyState = "completed"
    task_id: str = ""
    context_id: str = ""
    metadata: Mapping[str, JSON] = field(default_factory=dict)
    status_parts: Sequence[Part] = ()
    artifacts: Sequence[RemoteArtifact] = ()
    is_corrected: bool = False
    counted_by: set[str] = field(default_factory=set, repr=False, compare=False)

    @property
    def data(self) -> list[JSON]:
        """The values of all data parts."""
        return [part.value for part in self.parts if isinstance(part, Data)]  # type: ignore[misc]

    @property
    def data_text(self) -> str:
        """The data parts as JSON, one per line."""
        return as_text(part for part in self.parts if isinstance(part, Data))

    @property
    def rest_text(self) -> str:
        """The other parts as text, one per line: data as JSON, files as their names."""
        return "\n".join(filter(None, (self.data_text, as_text(self.files))))

    @property
    def whole_text(self) -> str:
        """The complete answer as text, including data and the names of files."""
        return "\n".join(filter(None, (self.text, self.rest_text)))

    @property
    def files(self) -> list[File]:
        """All files."""
        return [part for part in self.parts if isinstance(part, File)]

    @property
    def usage(self) -> TokenUsage | None:
        """The tokens used, which agents report in `metadata["usage"]` by convention."""
        return TokenUsage.of(self.metadata)

    def counted_usage(self, module: str) -> TokenUsage | None:
        """Return `usage` for a framework that adds up tokens; `module` is the caller's `__name__`.

        A task whose adapter is in the same package does not add them again.
        """
        self.counted_by.add(module)
        return self.usage

    @property
    def is_question(self) -> bool:
        """Whether the task waits for its caller; the next message on it is the answer."""
        return self.state in WAITING

    @property
    def question(self) -> str:
        """The agent's question, with which `text` ends, or ""."""
        return join_text(self.status_parts) if self.is_question else ""


RemoteEvent: TypeAlias = TextDelta | ProgressEvent | AgentReply
"""An item of a stream: new text, progress and, last, the complete answer."""
