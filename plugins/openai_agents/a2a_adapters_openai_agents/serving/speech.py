"""Streams the text of messages."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from a2a_adapters import ReasoningFilter, without_reasoning

_BETWEEN = "\n\n"


class MessageName(NamedTuple):
    """Identifies a message in a model's response."""

    item_id: str
    position: int


@dataclass(slots=True)
class _Utterance:
    """A message that is being streamed."""

    name: MessageName
    said: str = ""
    reasoning: ReasoningFilter = field(default_factory=ReasoningFilter)


class Speech:
    """The text of a run's messages, separated by blank lines."""

    def __init__(self) -> None:
        self._open: list[_Utterance] = []
        self._has_said = False

    def chunk(self, name: MessageName, text: str) -> str:
        """Add a chunk of a message and return the text to send now."""
        if not self._open or self._open[-1].name != name:
            self._open.append(_Utterance(name))
        utterance = self._open[-1]
        new = utterance.reasoning.add(text)
        begins = not utterance.said
        utterance.said += new
        return self._apart(new) if begins else new

    def message(self, text: str) -> str:
        """End a message, given its whole text, and return the text that was not sent yet."""
        whole = without_reasoning(text)
        said = self._open.pop(0).said if self._open else ""
        if not said:
            return self._apart(whole)
        return whole[len(said) :] if whole.startswith(said) else ""

    def _apart(self, text: str) -> str:
        if not text:
            return ""
        between = _BETWEEN if self._has_said else ""
        self._has_said = True
        return between + text
