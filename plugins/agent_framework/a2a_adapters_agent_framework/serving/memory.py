"""The stored data of a conversation."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, TypeAlias

from a2a_adapters.conversing import Remembered, StoredTurn, TurnKind
from a2a_adapters_agent_framework.serving.questions import Paused, answered, question

_Known: TypeAlias = "Remembered[Mapping[str, Any], Paused]"
AnyTurn: TypeAlias = "StoredTurn[Mapping[str, Any], Paused]"
"""A turn; the state is the session as JSON."""


def _encoded(known: _Known) -> bytes:
    return json.dumps(asdict(known)).encode()


def _decoded(body: bytes) -> _Known:
    stored = json.loads(body)
    paused = stored["paused"]
    return Remembered(stored["state"], Paused(**paused) if paused else None)


KIND = TurnKind("agent-framework", _encoded, _decoded, question, answered)
"""How conversations of the framework are stored and asked about."""
