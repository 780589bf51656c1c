"""Stop sequences, for agents that know of none."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


class StopCutter:
    """Ends a stream of text before the first of the stop sequences.

    Args:
        stop: The sequences; none lets everything through.
    """

    def __init__(self, stop: Sequence[str] | None) -> None:
        self._stop = [sequence for sequence in stop or () if sequence]
        self._held = ""
        self.is_done = False
        """Whether a sequence was found; what comes after it is dropped."""

    def add(self, text: str) -> str:
        """Take a piece; return what may be shown. The beginning of a sequence is held back."""
        if not self._stop or self.is_done:
            return "" if self.is_done else text
        self._held += text
        found = [at for sequence in self._stop if (at := self._held.find(sequence)) >= 0]
        if found:
            self.is_done = True
            shown, self._held = self._held[: min(found)], ""
            return shown
        keep = max(self._overlap(sequence) for sequence in self._stop)
        shown = self._held[: len(self._held) - keep]
        self._held = self._held[len(shown) :]
        return shown

    def rest(self) -> str:
        """Return what was held back, at the end of the text."""
        held, self._held = self._held, ""
        return held

    def _overlap(self, sequence: str) -> int:
        """Return how much of the end of the held text may begin `sequence`."""
        longest = min(len(sequence) - 1, len(self._held))
        return next((n for n in range(longest, 0, -1) if self._held.endswith(sequence[:n])), 0)


def cut(text: str, stop: Sequence[str] | None) -> str:
    """Return `text` up to the first stop sequence."""
    cutter = StopCutter(stop)
    return cutter.add(text) + cutter.rest()
