"""The stored data of a conversation."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, TypeAlias

from a2a_adapters.conversing import Remembered, StoredTurn, TurnKind
from a2a_adapters_strands.serving.questions import Paused, answered, question

_Known: TypeAlias = "Remembered[Mapping[str, Any], Paused]"
AnyTurn: TypeAlias = "StoredTurn[Mapping[str, Any], Paused]"
"""A turn; the state is the agent's snapshot."""


_BYTES, _ESCAPED = "__bytes__", "__escaped__"


def _encoded(known: _Known) -> bytes:
    return json.dumps(_as_json(asdict(known))).encode()


def _decoded(body: bytes) -> _Known:
    stored = _of_json(json.loads(body))
    paused = stored["paused"]
    return Remembered(stored["state"], Paused(**paused) if paused else None)


def _as_json(value: Any) -> Any:
    """Encode bytes, and keep values of callers that look like encoded ones apart.

    The framework's `encode_bytes_values` does not do the latter: a caller could turn its values
    into bytes, or make the conversation unreadable.
    """
    match value:
        case bytes():
            return {_BYTES: base64.b64encode(value).decode()}
        case dict():
            encoded = {key: _as_json(inner) for key, inner in value.items()}
            return {_ESCAPED: encoded} if value.keys() & {_BYTES, _ESCAPED} else encoded
        case list():
            return [_as_json(inner) for inner in value]
    return value


def _of_json(value: Any) -> Any:
    """Return the inverse of `_as_json`."""
    match value:
        case {"__bytes__": str(data)}:
            return base64.b64decode(data)
        case {"__escaped__": dict(encoded)}:
            return {key: _of_json(inner) for key, inner in encoded.items()}
        case dict():
            return {key: _of_json(inner) for key, inner in value.items()}
        case list():
            return [_of_json(inner) for inner in value]
    return value


KIND = TurnKind("strands", _encoded, _decoded, question, answered)
"""How conversations of agents are stored and asked about."""
TEAM_KIND = TurnKind("strands-team", _encoded, _decoded, question, answered)
"""How runs of graphs and swarms are; a snapshot is the state of the team."""
