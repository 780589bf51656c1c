"""What strangers wrote, fit to be shown."""

from __future__ import annotations

_CLIPPED_LENGTH = 200
_QUOTE_LENGTH = 500


def clipped(text: str) -> str:
    """Return a text in the length that is fit for a log or an error message."""
    return text if len(text) <= _CLIPPED_LENGTH else f"{text[: _CLIPPED_LENGTH - 1]}…"


def quote(text: str, length: int = _QUOTE_LENGTH) -> str:
    """Return a text as one line of printable characters, `length` of them at most.

    Characters that cannot be seen can hide instructions from whoever reads the card or the log.
    """
    # What is cut off anyway need not be looked at: it may be megabytes.
    seen = (c if c.isprintable() else " " for c in text[: 4 * length])
    line = " ".join("".join(seen).split())
    return line if len(line) <= length else f"{line[: length - 1]}…"
