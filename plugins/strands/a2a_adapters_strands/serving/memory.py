"""The stored data of a conversation."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, TypeAlias

from strands.types.session import decode_bytes_values, encode_bytes_values

from a2a_adapters.conversing import Remembered, StoredTurn, TurnKind
from a2a_adapters_strands.serving.questions import Paused, answered, question

_Known: TypeAlias = "Remembered[Mapping[str, Any], Paused]"
AnyTurn: TypeAlias = "StoredTurn[Mapping[str, Any], Paused]"
"""A turn; the state is the agent's snapshot."""


def _encoded(known: _Known) -> bytes:
    return json.dumps(encode_bytes_values(asdict(known))).encode()


def _decoded(body: bytes) -> _Known:
    stored = decode_bytes_values(json.loads(body))
    paused = stored["paused"]
    return Remembered(stored["state"], Paused(**paused) if paused else None)


KIND = TurnKind("strands", _encoded, _decoded, question, answered)
"""How conversations of agents are stored and asked about."""
TEAM_KIND = TurnKind("strands-team", _encoded, _decoded, question, answered)
"""How runs of graphs and swarms are; a snapshot is the state of the team."""
