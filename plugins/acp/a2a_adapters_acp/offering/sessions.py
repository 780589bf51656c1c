"""An editor's sessions, stored on disk so that it can load them after a restart."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_ID = re.compile(r"[0-9a-f]{32}")
_MOST_SESSIONS = 200
_MOST_CHARACTERS = 1_000_000

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Transcript:
    """A conversation as text.

    Attributes:
        context_id: The remote agent's contextId; "" before its first answer.
        messages: Pairs of `user` or `agent` and a text; only the last ones of a long conversation.
    """

    context_id: str = ""
    messages: list[tuple[str, str]] = field(default_factory=list)

    def add(self, role: str, text: str) -> None:
        """Add a message, and drop the oldest if the conversation is long."""
        if text:
            self.messages.append((role, text[:_MOST_CHARACTERS]))
        while sum(len(text) for _, text in self.messages) > _MOST_CHARACTERS:
            del self.messages[0]


class SessionFiles:
    """One file for each session with an agent, readable only by the current user.

    The files are in `XDG_STATE_HOME` (default `~/.local/state`); the oldest are removed.

    Args:
        url: The agent's address.
    """

    def __init__(self, url: str) -> None:
        base = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
        agent = hashlib.sha256(url.encode()).hexdigest()[:16]
        self._folder = base / "a2a-adapters" / "acp" / agent

    def read(self, session_id: str) -> Transcript | None:
        """Return a session; None if it is missing or unreadable."""
        if not _ID.fullmatch(session_id):
            return None
        try:
            kept: Any = json.loads(self._file(session_id).read_text(encoding="utf-8"))
            messages = [(str(role), str(text)) for role, text in kept["messages"]]
            return Transcript(str(kept["context_id"]), messages)
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def write(self, session_id: str, transcript: Transcript) -> None:
        """Store a session; failures are logged."""
        kept = {"context_id": transcript.context_id, "messages": transcript.messages}
        file = self._file(session_id)
        new = file.with_suffix(".new")
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            new.touch(mode=0o600)
            new.write_text(json.dumps(kept), encoding="utf-8")
            new.replace(file)
            by_age = sorted(self._folder.glob("*.json"), key=lambda each: each.stat().st_mtime)
            for old in by_age[:-_MOST_SESSIONS]:
                old.unlink()
        except OSError as error:
            logger.warning("the session cannot be stored, so that no editor can load it: %s", error)

    def _file(self, session_id: str) -> Path:
        return self._folder / f"{session_id}.json"
