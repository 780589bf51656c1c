"""How much is shown of what strangers send."""

from __future__ import annotations

_SHOWN_CHARACTERS = 200


def clipped(text: str) -> str:
    """Return a text in the length that is fit for a log or an error message."""
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[: _SHOWN_CHARACTERS - 1]}…"
