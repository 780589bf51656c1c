"""Puts together the chunks of a plain runnable's answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessageChunk
from langchain_core.messages.ai import add_ai_message_chunks

from a2a_adapters import ReasoningFilter, TextDelta
from a2a_adapters_langchain.serving.content import message_extras
from a2a_adapters_langchain.serving.output import outputs

if TYPE_CHECKING:
    from a2a_adapters import AgentEvent
    from a2a_adapters_langchain.serving.schema import Schema


class Answer:
    """One answer: its text is passed on at once, everything else at the end."""

    def __init__(self) -> None:
        self._value: object = None
        self._reasoning = ReasoningFilter()
        self._blocks: list[AIMessageChunk] = []

    def add(self, chunk: object) -> str:
        """Take a chunk and return the text in it that is sure to be the answer."""
        if isinstance(chunk, AIMessageChunk):
            if type(chunk.content) is str and not chunk.tool_call_chunks:
                return self._reasoning.add(chunk.content)
            self._blocks.append(chunk)
            return self._reasoning.add(str(chunk.text))
        if isinstance(chunk, str):
            return self._reasoning.add(str(chunk))
        self._value = chunk if self._value is None else _joined(self._value, chunk)
        return ""

    def rest(self, schema: Schema | None) -> list[AgentEvent]:
        """Return the end of the text, and what was not text."""
        text = self._reasoning.rest()
        rest: list[AgentEvent] = [TextDelta(text)] if text else []
        rest += outputs(self._value, schema)
        if self._blocks and (extras := message_extras(add_ai_message_chunks(*self._blocks))):
            rest += outputs(extras)
        return rest


def _joined(value: Any, chunk: Any) -> object:
    """Join chunks as LangChain itself does: those that cannot be added are snapshots."""
    try:
        return value + chunk
    except TypeError:
        return chunk
