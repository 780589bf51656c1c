"""The artifacts of a task while they grow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a.utils.errors import InvalidAgentResponseError

if TYPE_CHECKING:
    from a2a.types import Artifact, Task, TaskArtifactUpdateEvent


class Artifacts:
    """Finds a task's artifacts by id at once, however many there are.

    Args:
        task: Whose they are; nobody else adds to them.
    """

    def __init__(self, task: Task) -> None:
        self._artifacts = task.artifacts
        self._places: dict[str, int] = {}
        for place, artifact in enumerate(task.artifacts):
            self._places.setdefault(artifact.artifact_id, place)

    def add(self, artifact_id: str, name: str) -> Artifact:
        """Begin an artifact."""
        self._places.setdefault(artifact_id, len(self._artifacts))
        return self._artifacts.add(artifact_id=artifact_id, name=name)

    def fold(self, event: TaskArtifactUpdateEvent) -> None:
        """Add, replace or append to the artifact of an event.

        Raises:
            InvalidAgentResponseError: It appends to one that was not begun.
        """
        place = self._places.get(event.artifact.artifact_id)
        if not event.append:
            if place is None:
                self._places[event.artifact.artifact_id] = len(self._artifacts)
                self._artifacts.append(event.artifact)
            else:
                self._artifacts[place].CopyFrom(event.artifact)
        elif place is None:
            raise InvalidAgentResponseError("the agent appended to an artifact it had not begun")
        else:
            artifact = self._artifacts[place]
            artifact.parts.extend(event.artifact.parts)
            artifact.metadata.MergeFrom(event.artifact.metadata)
