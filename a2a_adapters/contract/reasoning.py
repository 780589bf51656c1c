"""Reasoning that models write in the text of their answer, as `<think>...</think>` before it."""

from __future__ import annotations

from enum import Enum, auto

__all__ = ["ReasoningFilter", "without_reasoning"]

_BEGIN, _END = "<think>", "</think>"


class _At(Enum):
    BEGINNING = auto()
    REASONING = auto()
    GAP = auto()
    ANSWER = auto()


class ReasoningFilter:
    """Leaves the reasoning out of one message that comes in chunks, cut anywhere.

    Only what a message begins with is reasoning, but for white space. If its end never comes there
    is no answer. Tags anywhere else are text.
    """

    __slots__ = ("_at", "_held")

    def __init__(self) -> None:
        self._at = _At.BEGINNING
        self._held = ""

    def add(self, chunk: str) -> str:
        """Take a chunk and return what of the text so far is sure to be the answer."""
        if self._at is _At.ANSWER:
            return chunk
        self._held += chunk
        if self._at is _At.BEGINNING:
            self._look_for_begin()
        if self._at is _At.REASONING:
            self._look_for_end()
        if self._at is _At.GAP:
            self._held = self._held.lstrip()
            self._at = _At.ANSWER if self._held else _At.GAP
        return self.rest() if self._at is _At.ANSWER else ""

    def rest(self) -> str:
        """Return what was held back, at the end of the message: the beginning of no tag."""
        held, self._held = self._held, ""
        return "" if self._at is _At.REASONING else held

    def _look_for_begin(self) -> None:
        start = self._held.lstrip()
        if start.startswith(_BEGIN):
            self._held = start.removeprefix(_BEGIN)
            self._at = _At.REASONING
        elif not _BEGIN.startswith(start):
            self._at = _At.ANSWER

    def _look_for_end(self) -> None:
        _, mark, after = self._held.partition(_END)
        if mark:
            self._held = after
            self._at = _At.GAP
        else:  # it may be long: keep no more of it than may be the end's beginning
            self._held = self._held[-len(_END) :]


def without_reasoning(text: str) -> str:
    """Return a whole message's text without the reasoning that it begins with."""
    reasoning = ReasoningFilter()
    return reasoning.add(text) + reasoning.rest()
