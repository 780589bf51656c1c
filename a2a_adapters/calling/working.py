"""The answer's text as it arrives in messages of a working status."""

from __future__ import annotations


class WorkingText:
    """Joins the texts of working statuses: deltas, or snapshots that grow.

    The first two texts of a message show which of them an agent sends. A text that equals the
    message so far repeats it: google-adk ends its deltas so, and langgraph-api its snapshots.
    """

    def __init__(self) -> None:
        self.text = ""
        """The message so far."""
        self._earlier: list[str] = []
        self._are_snapshots: bool | None = None
        self._is_over = False

    def add(self, text: str) -> str:
        """Take the text of a status; return what of it is new."""
        said = self.text
        if text == said:
            self._is_over = not self._are_snapshots
            return ""
        if said and text.startswith(said) and self._are_snapshots is not False:
            self._are_snapshots, self._is_over, self.text = True, False, text
            return text[len(said) :]
        if said and not self._are_snapshots and not self._is_over:
            self._are_snapshots, self.text = False, said + text
            return text
        if said:
            self._earlier.append(said)
        self._is_over, self.text = False, text
        return f"\n{text}" if said else text

    def rest(self, text: str) -> str:
        """Return what a final text adds: its end, or all of it on a line of its own."""
        for said in (self.whole, self.text):
            if text.startswith(said):
                return text[len(said) :]
        return f"\n{text}" if text else ""

    @property
    def whole(self) -> str:
        """All messages, one per line."""
        return "\n".join([*self._earlier, self.text])
