"""The session of a conversation: the transcripts of Claude Code."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from claude_agent_sdk import SessionKey, SessionListSubkeysKey, SessionStoreEntry

Transcripts: TypeAlias = Mapping[str, list[Any]]
"""The entries of a session by the subpaths of its subagents; "" is the main transcript."""

_WRITE_SECONDS = 2.0


class Session:
    """Holds the transcripts of one run, which Claude Code continues and adds to (`SessionStore`).

    Args:
        transcripts: The transcripts of the conversation so far.
    """

    def __init__(self, transcripts: Transcripts) -> None:
        self._transcripts = {path: list(entries) for path, entries in transcripts.items()}
        self._seen: set[Any] = {each.get("uuid") for each in self._main} - {None}
        self._has_grown = asyncio.Event()

    @property
    def id(self) -> str | None:
        """The session's id; None if it is new."""
        ids = (entry.get("sessionId") for entry in reversed(self._main))
        return next(filter(None, ids), None)

    @property
    def transcripts(self) -> dict[str, list[Any]]:
        """A copy of the transcripts."""
        return {path: list(entries) for path, entries in self._transcripts.items()}

    async def has(self, call_id: str) -> None:
        """Wait a limited time until the transcripts contain a tool call."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_WRITE_SECONDS):
                while call_id not in self._seen:
                    self._has_grown.clear()
                    await self._has_grown.wait()

    async def append(self, key: SessionKey, entries: list[SessionStoreEntry]) -> None:
        """Add entries, each once."""
        transcript = self._transcripts.setdefault(key.get("subpath", ""), [])
        for entry in entries:
            uuid = entry.get("uuid")
            if uuid is None or uuid not in self._seen:
                self._seen |= {uuid, *_calls(entry)}
                transcript.append(entry)
        self._has_grown.set()

    async def load(self, key: SessionKey) -> list[SessionStoreEntry] | None:
        """Return a transcript."""
        return self._transcripts.get(key.get("subpath", ""))

    async def list_subkeys(self, key: SessionListSubkeysKey) -> list[str]:  # noqa: ARG002
        """Return the subpaths of subagents."""
        return [path for path in self._transcripts if path]

    @property
    def _main(self) -> list[Any]:
        return self._transcripts.setdefault("", [])


def _calls(entry: Mapping[str, Any]) -> Iterator[str]:
    """Yield the ids of the tool calls of an entry."""
    match entry:
        case {"message": {"content": list(blocks)}}:
            yield from (each["id"] for each in blocks if each.get("type") == "tool_use")
