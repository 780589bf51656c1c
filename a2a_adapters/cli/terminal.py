"""Text of others, as a terminal may have it."""

from __future__ import annotations

import json


def printable(text: str) -> str:
    """Return text without what could steer the terminal."""
    return "".join(c for c in text if c.isprintable() or c in "\n\t")


def escaped(text: str) -> str:
    """Return JSON with what could steer the terminal as escapes."""
    return "".join(c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in text)
