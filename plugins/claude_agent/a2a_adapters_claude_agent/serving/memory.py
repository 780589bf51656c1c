"""The stored data of a conversation."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, TypeAlias

from a2a_adapters.conversing import Remembered, StoredTurn, TurnKind
from a2a_adapters_claude_agent.serving.questions import Paused, answered, question

if TYPE_CHECKING:
    from a2a_adapters_claude_agent.serving.session import Transcripts

_Known: TypeAlias = "Remembered[Transcripts, Paused]"
AnyTurn: TypeAlias = "StoredTurn[Transcripts, Paused]"
"""A turn; the state is the session of Claude Code."""


def _encoded(known: _Known) -> bytes:
    return json.dumps(asdict(known)).encode()


def _decoded(body: bytes) -> _Known:
    stored = json.loads(body)
    paused = stored["paused"]
    return Remembered(stored["state"], Paused(**paused) if paused else None)


KIND = TurnKind("claude-agent", _encoded, _decoded, question, answered)
"""How conversations are stored and asked about."""
