"""Files on this machine as parts of a message."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from a2a_adapters import File


@dataclass(frozen=True, slots=True, init=False)
class LocalFile(File):
    """A file on this machine, which `RemoteAgent` reads while it sends the message.

    Large files are uploaded by stream if the agent supports that.

    Args:
        path: The file.
        media_type: The media type; guessed from the name by default.
        filename: The name for the agent; by default that of the path.
    """

    path: Path = Path()

    def __init__(self, path: str | Path, *, media_type: str = "", filename: str = "") -> None:
        path = Path(path)
        File.__init__(self, url="", media_type=media_type, filename=filename or path.name)
        object.__setattr__(self, "path", path)
