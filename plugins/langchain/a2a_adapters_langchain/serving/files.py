"""Files that a graph keeps in its state, as deepagents does, as artifacts."""

from __future__ import annotations

import base64
import mimetypes
from collections.abc import Collection, Mapping
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from a2a_adapters import File, Output, TargetError

if TYPE_CHECKING:
    from a2a_adapters_langchain.serving.run import GraphRun

FILES = "files"
"""The key of the state."""


class StateFiles:
    """Finds the files that a run wrote.

    Args:
        patterns: Which paths are wanted, as `fnmatch` reads them: `*` stands for slashes, too.

    Raises:
        TargetError: It is a single string.
    """

    def __init__(self, patterns: Collection[str]) -> None:
        if isinstance(patterns, str):
            raise TargetError(f"files takes a list of patterns: [{patterns!r}]")
        self.patterns = patterns

    def outputs(self, run: GraphRun) -> list[Output]:
        """Return an artifact for each file that is new or changed, named by its path."""
        if not self.patterns:
            return []
        before, now = _files(run.first_values), _files(run.values)
        return [
            Output([_file(path, record)], name=path)
            for path, record in now.items()
            if record != before.get(path) and any(fnmatchcase(path, p) for p in self.patterns)
        ]


def _files(values: Any) -> Mapping[str, Any]:
    files = values.get(FILES) if isinstance(values, Mapping) else None
    return files if isinstance(files, Mapping) else {}


def _file(path: str, record: Any) -> File:
    """Return a file: a string, or an object with `content`, whose lines may be a list."""
    is_binary = isinstance(record, Mapping) and record.get("encoding") == "base64"
    content = record["content"] if isinstance(record, Mapping) else record
    text = content if isinstance(content, str) else "\n".join(content)
    guess, _ = mimetypes.guess_type(path)
    return File(
        content=base64.b64decode(text) if is_binary else text.encode("utf-8", "replace"),
        filename=PurePosixPath(path).name,
        media_type=guess or ("application/octet-stream" if is_binary else "text/plain"),
    )
