"""What a remote agent answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from a2a_adapters.contract.events import ProgressEvent, TextDelta, TokenUsage
from a2a_adapters.contract.parts import JSON, Data, File, Part, join_text
from a2a_adapters.contract.text import as_text

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

__all__ = ["AgentReply", "Question", "RemoteArtifact", "RemoteEvent", "ReplyState"]

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
"""States of a task (A2A 1.0, section 4.1.3). A bare message counts as completed."""

WAITING: Collection[ReplyState] = frozenset({"input-required", "auth-required"})
"""The states of a task that waits for its caller."""


@dataclass(frozen=True, slots=True)
class Question(TextDelta):
    """The text of an agent's question, as the end of a stream's text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteArtifact:
    """One result of a task; `extensions` are the URIs of those that it is made by."""

    id: str
    parts: Sequence[Part]
    name: str = ""
    description: str = ""
    metadata: Mapping[str, JSON] = field(default_factory=dict)
    extensions: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentReply:
    """The whole answer to one message.

    Attributes:
        text: The answer as text: of the artifacts if they hold any, else of the message with
            which the task or the agent answered. For a task that waits, its question.
        parts: Everything the answer consists of, in order: text, files and data.
        state: How the task stands.
        task_id: The remote task; "" for an agent that answered without one.
        context_id: The remote conversation.
        metadata: Of the task, or of the bare message.
        status_parts: What the message of the task's last status holds: the question of a task
            that waits, a closing remark, the reason of a failure.
        artifacts: The results one by one; none for a bare message.
    """

    text: str
    parts: Sequence[Part] = ()
    state: ReplyState = "completed"
    task_id: str = ""
    context_id: str = ""
    metadata: Mapping[str, JSON] = field(default_factory=dict)
    status_parts: Sequence[Part] = ()
    artifacts: Sequence[RemoteArtifact] = ()

    @property
    def data(self) -> list[JSON]:
        """The values of all data parts."""
        return [part.value for part in self.parts if isinstance(part, Data)]  # type: ignore[misc]

    @property
    def data_text(self) -> str:
        """The data as JSON text, a value per line; "" if there is none."""
        return as_text(part for part in self.parts if isinstance(part, Data))

    @property
    def rest_text(self) -> str:
        """What is not text, as text: data as JSON, of files how they are called."""
        return "\n".join(filter(None, (self.data_text, as_text(self.files))))

    @property
    def whole_text(self) -> str:
        """All of the answer as text."""
        return "\n".join(filter(None, (self.text, self.rest_text)))

    @property
    def files(self) -> list[File]:
        """All files, by content or by address."""
        return [part for part in self.parts if isinstance(part, File)]

    @property
    def usage(self) -> TokenUsage | None:
        """The tokens the answer took, which agents tell in `metadata["usage"]` by convention."""
        return TokenUsage.of(self.metadata)

    @property
    def is_question(self) -> bool:
        """Whether the task waits: the next message on it is the answer."""
        return self.state in WAITING

    @property
    def question(self) -> str:
        """What the agent asks, with which `text` ends; "" if it does not ask."""
        return join_text(self.status_parts) if self.is_question else ""


RemoteEvent: TypeAlias = TextDelta | ProgressEvent | AgentReply
"""What a stream yields: new text, news of the work, and last the whole answer."""
