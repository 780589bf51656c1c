"""What a remote agent wrote, fit to be shown."""

from __future__ import annotations

_QUOTE_LENGTH = 500


def quote(text: str, length: int = _QUOTE_LENGTH) -> str:
    """Return a text as one line of printable characters, `length` of them at most.

    Characters that cannot be seen can hide instructions from whoever reads the card or the log.
    """
    # What is cut off anyway need not be looked at: it may be megabytes.
    seen = (c if c.isprintable() else " " for c in text[: 4 * length])
    line = " ".join("".join(seen).split())
    return line if len(line) <= length else f"{line[: length - 1]}…"
