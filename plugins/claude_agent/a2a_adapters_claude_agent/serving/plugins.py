"""Finds the events for which plugins have hooks.

Claude Code reads `hooks/hooks.json` and the files that a plugin's manifest names (seen in 2.1.332).
Since others may follow, a hook counts wherever it is in the JSON files of a plugin.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, TypeGuard

_EVENTS = re.compile(r'"(\w+)"\s*:\s*\[')
_MANIFEST = "plugin.json"
_STANDARD = "hooks/hooks.json"
_MODULES = "modules"
"""The key of scripts that register hooks."""
_OF_MODULES = frozenset({"PermissionRequest", "PreToolUse", "Stop", "SubagentStop"})
"""The events that the server looks for, of which a script may register any."""
_UNSURE_SECONDS = 2.0
"""Time in which another change of a file may have the same timestamp."""

_Version: TypeAlias = tuple[int, ...]


class _File(NamedTuple):
    """A file: its events, and the files that it names if it is a manifest."""

    version: _Version
    is_sure: bool
    events: frozenset[str]
    named: tuple[str, ...]


def hooked_events(folder: Path) -> frozenset[str]:
    """Return the events for which the plugin in a folder has hooks."""
    return _plugin(str(folder.resolve())).events()


def events_in(text: str) -> frozenset[str]:
    """Return the events in a configuration of hooks."""
    return frozenset(_EVENTS.findall(text))


def read(file: Path) -> str:
    """Return the text of a file; "" if it cannot be read, which Claude Code reports."""
    try:
        return file.read_text(encoding="utf-8-sig", errors="replace")
    except OSError:
        return ""


@lru_cache(maxsize=64)
def _plugin(folder: str) -> _Plugin:
    return _Plugin(folder)


class _Plugin:
    """A plugin, whose files are read again only if they have changed."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._known: dict[str, _File] = {}

    def events(self) -> frozenset[str]:
        """Return the events that have hooks now."""
        known = {path: self._read(path, version) for path, version in _json_files(self._folder)}
        names = {name for file in known.values() for name in file.named}
        of_hooks = [os.path.normpath(f"{self._folder}/{name}") for name in (_STANDARD, *names)]
        for path in of_hooks:
            if path not in known and (version := _version(Path(path))):
                known[path] = self._read(path, version)
        self._known = known
        found = frozenset[str]().union(*(file.events for file in known.values()))
        has_modules = any(_MODULES in known[path].events for path in of_hooks if path in known)
        return found | _OF_MODULES if has_modules else found

    def _read(self, path: str, version: _Version) -> _File:
        file = self._known.get(path)
        if file and file.is_sure and file.version == version:
            return file
        is_sure = time.time_ns() - max(version[:2]) > _UNSURE_SECONDS * 1e9
        text = read(file_path := Path(path))
        named = _named(text) if file_path.name == _MANIFEST else ()
        return _File(version, is_sure, events_in(text), named)


def _named(manifest: str) -> tuple[str, ...]:
    """Return the paths of more hooks in a manifest."""
    try:
        found: Any = json.loads(manifest)
    except ValueError:
        return ()
    hooks = found.get("hooks") if isinstance(found, dict) else None
    return tuple(each for each in (hooks if isinstance(hooks, list) else [hooks]) if _is_path(each))


def _is_path(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and "\0" not in value


def _json_files(folder: str) -> Iterator[tuple[str, _Version]]:
    """Yield the JSON files in a folder, also those behind links."""
    todo, seen = [folder], set[tuple[int, int]]()
    while todo:
        place = todo.pop()
        try:
            found = Path(place).stat()
            if (found.st_dev, found.st_ino) in seen:
                continue
            seen.add((found.st_dev, found.st_ino))
            with os.scandir(place) as entries:
                for entry in entries:
                    if entry.is_dir():
                        todo.append(entry.path)
                    elif entry.name.endswith(".json") and (version := _version(entry)):
                        yield entry.path, version
        except OSError:
            continue


def _version(file: Path | os.DirEntry[str]) -> _Version | None:
    """Return what changes when a file does; None if it does not exist."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino, found.st_dev
