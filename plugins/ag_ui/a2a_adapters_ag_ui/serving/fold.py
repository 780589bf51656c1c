"""The changes of a run for a front end: text, progress, shared state and interfaces."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from a2a.types import Message

from a2a_adapters import RemoteArtifact
from a2a_adapters.dialects import message_parts
from a2a_adapters.plugin import A2UI_EXTENSION
from a2a_adapters_ag_ui.front_end import STATE

if TYPE_CHECKING:
    from a2a.types import StreamResponse

    from a2a_adapters import TextDelta
    from a2a_adapters.dialects import Answer
    from a2a_adapters.plugin import ProgressEvent

    RunEvent: TypeAlias = TextDelta | ProgressEvent | RemoteArtifact


class Fold:
    """Folds the events of a task into an answer.

    Args:
        answer: The answer.
    """

    def __init__(self, answer: Answer) -> None:
        self._answer = answer

    def fold(self, event: StreamResponse) -> list[RunEvent]:
        """Add an event and return the changes for a front end."""
        news: list[RunEvent] = [*self._answer.fold(event)]
        if event.HasField("artifact_update"):
            artifact = event.artifact_update.artifact
            made = RemoteArtifact(
                id=artifact.artifact_id,
                parts=message_parts(Message(parts=artifact.parts)),
                name=artifact.name,
                extensions=tuple(artifact.extensions),
            )
            if is_followed(made):
                news.append(made)
        return news

    def append_text(self, artifact_id: str, text: str) -> list[RunEvent]:
        """Append text to an artifact and return the changes for a front end."""
        # A list of fewer kinds of events; copying it for each chunk is slow.
        return self._answer.append_text(artifact_id, text)  # type: ignore[return-value]


def is_followed(artifact: RemoteArtifact) -> bool:
    """Return whether an artifact is the shared state or an interface, rather than an answer."""
    return artifact.name == STATE or A2UI_EXTENSION in artifact.extensions
