"""The text of messages, as far as it is sent while they are made."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from a2a_adapters import ReasoningFilter, without_reasoning

_BETWEEN = "\n\n"


class MessageName(NamedTuple):
    """Which message of a model's response a piece of text belongs to."""

    item_id: str
    position: int


@dataclass(slots=True)
class _Utterance:
    """One message while it is being made."""

    name: MessageName
    said: str = ""
    reasoning: ReasoningFilter = field(default_factory=ReasoningFilter)


class Speech:
    """What is said, message by message, each apart from the next by a blank line.

    Attributes:
        last: The text of the last message that is whole.
    """

    def __init__(self) -> None:
        self.last = ""
        self._begun: list[_Utterance] = []
        self._has_said = False

    def chunk(self, name: MessageName, text: str) -> str:
        """Take a piece of a message and return what is to be sent now."""
        if not self._begun or self._begun[-1].name != name:
            self._begun.append(_Utterance(name))
        utterance = self._begun[-1]
        new = utterance.reasoning.add(text)
        begins = not utterance.said
        utterance.said += new
        return self._apart(new) if begins else new

    def message(self, text: str) -> str:
        """Take the text of a whole message and return what of it was not sent yet."""
        self.last = without_reasoning(text)
        said = self._begun.pop(0).said if self._begun else ""
        if not said:
            return self._apart(self.last)
        return self.last[len(said) :] if self.last.startswith(said) else ""

    def _apart(self, text: str) -> str:
        if not text:
            return ""
        between = _BETWEEN if self._has_said else ""
        self._has_said = True
        return between + text
