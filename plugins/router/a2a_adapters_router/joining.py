"""One text out of the answers of several, when one breaks off and the next goes on."""

from __future__ import annotations

from typing import Literal, TypeAlias

_LEAST_REPEATED = 12
"""How many characters have to be the same before they count as said again, and not as chance."""


How: TypeAlias = Literal["continued", "restarted", "repeated"]


class Joiner:
    """Takes out of an answer that goes on, or begins again, what was said before.

    Args:
        said: What the answers before it have said.

    Attributes:
        how: How it went on: where that ended, from the beginning, or from a little before the end;
            None if nothing was said before, or as long as that is not clear.
    """

    def __init__(self, said: str) -> None:
        self._said = said
        self._held = ""
        self._is_decided = not said
        self.how: How | None = None

    def add(self, text: str) -> str:
        """Take the next piece and return what of it is new."""
        if self._is_decided:
            return text
        self._held += text
        if self._said.startswith(self._held) or self._may_repeat():
            return ""
        return self.end()

    def end(self) -> str:
        """Return what is still held back, without what was said before."""
        if self._is_decided:
            return ""
        self._is_decided = True
        repeated = self._repeated()
        is_restart = repeated and self._said.startswith(self._held[:repeated])
        self.how = "restarted" if is_restart else "repeated" if repeated else "continued"
        return self._held[repeated:]

    def _may_repeat(self) -> bool:
        """Tell whether what is held may be the beginning of the end of what was said."""
        at = self._said.find(self._held)
        return 0 <= at <= len(self._said) - max(_LEAST_REPEATED, len(self._held) + 1)

    def _repeated(self) -> int:
        """Return how many characters at the beginning were said before."""
        if self._held.startswith(self._said):
            return len(self._said)
        if len(self._held) >= _LEAST_REPEATED and self._said.startswith(self._held):
            return len(self._held)
        for size in range(min(len(self._said), len(self._held)), _LEAST_REPEATED - 1, -1):
            if self._said.endswith(self._held[:size]):
                return size
        return 0
