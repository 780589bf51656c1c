"""The text of messages, as far as it is sent while they are made."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from a2a_adapters import ReasoningFilter

if TYPE_CHECKING:
    from collections.abc import Collection

_BETWEEN = "\n\n"

# What may become a trailing TERMINATE, and what is one.
_BEGINNING = re.compile(r"\s*(?:T(?:E(?:R(?:M(?:I(?:N(?:A(?:T(?:E[.!]?\s*)?)?)?)?)?)?)?)?)?$")
_TERMINATE = re.compile(r"(?:^|\s+)TERMINATE[.!]?\s*$")


def without_terminate(text: str) -> str:
    """Return a message's text without the word that ended its team's work."""
    return _TERMINATE.sub("", text)


@dataclass(slots=True)
class _Utterance:
    """One message while it is being made."""

    source: str
    may_end: bool
    said: str = ""
    pending: str = ""
    reasoning: ReasoningFilter = field(default_factory=ReasoningFilter)

    def add(self, chunk: str) -> str:
        """Take a chunk and return what of the text is sure to stay."""
        self.pending += self.reasoning.add(chunk)
        held = _BEGINNING.search(self.pending) if self.may_end else None
        cut = held.start() if held else len(self.pending)
        text, self.pending = self.pending[:cut], self.pending[cut:]
        self.said += text
        return text

    def rest(self, text: str) -> str | None:
        """Return what is left of the finished text; None if it is another one."""
        if text.startswith(self.said):
            return text[len(self.said) :]
        return "" if self.said.rstrip().endswith(text.strip()) else None


class Speech:
    """What is said, message by message, each apart from the next by a blank line.

    Of agents that speak at the same time one has the floor until its message ends.

    Args:
        voices: The agents whose messages are heard.
        labelled: Whether each message begins with its agent's name.
        strip_terminate: Whether a trailing TERMINATE is left out.

    Attributes:
        voices: The same; may be replaced between two messages.
    """

    def __init__(self, voices: Collection[str], *, labelled: bool, strip_terminate: bool) -> None:
        self.voices = voices
        self._labelled = labelled
        self._strip = strip_terminate
        self._floor: _Utterance | None = None
        self._waiting: set[str] = set()
        self._late: list[tuple[str, str]] = []
        self._has_said = False

    def chunk(self, source: str, text: str) -> str:
        """Take a piece of a message and return what is to be sent now."""
        if source not in self.voices:
            return ""
        if source in self._waiting or (self._floor and self._floor.source != source):
            self._waiting.add(source)  # until its message is whole
            return ""
        if self._floor is None:
            self._floor = _Utterance(source, may_end=self._strip)
        begins = not self._floor.said
        new = self._floor.add(text)
        return self._begin(source) + new if begins and new else new

    def message(self, source: str, text: str) -> str:
        """Take a whole message and return what of it was not sent yet."""
        text = without_terminate(text) if self._strip else text
        current = self._floor
        self._waiting.discard(source)
        if current is not None and current.source != source:
            self._late.append((source, text))
            return ""
        rest = current.rest(text) if current and current.said else None
        return (self._whole(source, text) if rest is None else rest) + self._yield_floor()

    def pause(self, source: str) -> str:
        """End what an agent has said before it calls a tool; return the rest of it."""
        current = self._floor
        if current is None or current.source != source:
            return ""
        text = current.pending + current.reasoning.rest()
        text = without_terminate(text) if self._strip else text
        return (text if current.said else self._whole(source, text)) + self._yield_floor()

    def begin_anew(self) -> None:
        """Note that the next message begins a text of its own."""
        self._has_said = False

    def is_speaking(self, source: str) -> bool:
        """Whether part of a message of this agent was sent."""
        return self._floor is not None and self._floor.source == source and bool(self._floor.said)

    def _yield_floor(self) -> str:
        self._floor = None
        late, self._late = self._late, []
        return "".join(self._whole(source, text) for source, text in late)

    def _whole(self, source: str, text: str) -> str:
        return self._begin(source) + text if text.strip() else ""

    def _begin(self, source: str) -> str:
        between = _BETWEEN if self._has_said else ""
        self._has_said = True
        return f"{between}{source}: " if self._labelled else between
