"""What is deployed here; put yours in its place."""

from __future__ import annotations


def greet(text: str) -> str:
    """Greet the sender."""
    return f"Hello, {text}!"
