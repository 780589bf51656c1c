"""What a task has made, as files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from a2a_adapters.contract.parts import Data, File, Text
from a2a_adapters.protocol.conversion import from_protocol

if TYPE_CHECKING:
    from collections.abc import Iterator

    from a2a.types import Task


def results(task: Task) -> Iterator[File]:
    """Yield the parts of a task's artifacts; text and data are called as their artifact is."""
    for artifact in task.artifacts:
        name = artifact.name or artifact.artifact_id
        for part in artifact.parts:
            match from_protocol(part):
                case Text(text=text):
                    yield File(content=text.encode(), filename=f"{name}.txt")
                case Data(value=value):
                    content = json.dumps(value, indent=2, ensure_ascii=False).encode()
                    yield File(content=content, filename=f"{name}.json")
                case File() as file:
                    yield file
