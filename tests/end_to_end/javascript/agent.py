"""The agent for the JavaScript clients."""

from __future__ import annotations


def echo(text: str) -> str:
    """Echo the text."""
    return text
