"""The stored data of a conversation."""

from __future__ import annotations

from typing import TypeAlias

from pydantic import BaseModel, ConfigDict, Field
from pydantic_ai import ModelMessage

from a2a_adapters.conversing import Remembered, StoredTurn, TurnKind
from a2a_adapters_pydantic_ai.serving.questions import Paused, answered, question


class _Stored(BaseModel):
    """The stored data of a conversation, as JSON."""

    model_config = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")

    messages: list[ModelMessage] = Field(default_factory=list)
    paused: Paused | None = None


_Known: TypeAlias = "Remembered[list[ModelMessage], Paused]"
AnyTurn: TypeAlias = "StoredTurn[list[ModelMessage], Paused]"
"""A turn; the state is the messages of completed runs."""


def _encoded(known: _Known) -> bytes:
    stored = _Stored.model_construct(messages=known.state or [], paused=known.paused)
    return stored.model_dump_json().encode()


def _decoded(body: bytes) -> _Known:
    stored = _Stored.model_validate_json(body)
    return Remembered(stored.messages, stored.paused)


KIND = TurnKind("pydantic-ai", _encoded, _decoded, question, answered)
"""How conversations of the framework are stored and asked about."""
