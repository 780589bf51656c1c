"""The deployed agent; replace it with yours."""

from __future__ import annotations


def greet(text: str) -> str:
    """Greet the sender."""
    return f"Hello, {text}!"
