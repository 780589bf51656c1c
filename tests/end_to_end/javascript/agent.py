"""What the JavaScript clients talk to."""

from __future__ import annotations


def echo(text: str) -> str:
    """Repeat what was said."""
    return text
