"""Joins an answer that broke off with its continuation by another deployment."""

from __future__ import annotations

from typing import Literal, TypeAlias

_LEAST_REPEATED = 12
"""Minimum number of equal characters that count as a repetition."""


How: TypeAlias = Literal["continued", "restarted", "repeated"]


class Joiner:
    """Removes from a continuation the text that was already sent.

    Args:
        sent: The text already sent.

    Attributes:
        how: The point where it continued: at the end, from the beginning, or with an overlap;
            None without earlier text, or while undecided.
    """

    def __init__(self, sent: str) -> None:
        self._sent = sent
        self._held = ""
        self._is_decided = not sent
        self.how: How | None = None

    def add(self, text: str) -> str:
        """Add a piece and return the new text."""
        if self._is_decided:
            return text
        self._held += text
        if self._sent.startswith(self._held) or self._may_repeat():
            return ""
        return self.end()

    def restart(self, text: str) -> str:
        """Replace all pieces by a text, and return the joined answer."""
        self._held, self._is_decided = text, not self._sent
        return self._sent + (self.end() if self._sent else text)

    def end(self) -> str:
        """Return the withheld text without repetitions."""
        if self._is_decided:
            return ""
        self._is_decided = True
        repeated = self._repeated()
        is_restart = repeated and self._sent.startswith(self._held[:repeated])
        self.how = "restarted" if is_restart else "repeated" if repeated else "continued"
        return self._held[repeated:]

    def _may_repeat(self) -> bool:
        """Return whether the withheld text may repeat the end of the earlier text."""
        at = self._sent.find(self._held)
        return 0 <= at <= len(self._sent) - max(_LEAST_REPEATED, len(self._held) + 1)

    def _repeated(self) -> int:
        """Return the number of repeated characters at the start."""
        if self._held.startswith(self._sent):
            return len(self._sent)
        if len(self._held) >= _LEAST_REPEATED and self._sent.startswith(self._held):
            return len(self._held)
        for size in range(min(len(self._sent), len(self._held)), _LEAST_REPEATED - 1, -1):
            if self._sent.endswith(self._held[:size]):
                return size
        return 0
