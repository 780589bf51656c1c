"""A tool that sends letters, and the letters it sent."""

from __future__ import annotations

from langchain_core.tools import tool

sent: list[str] = []


@tool
def send(to: str) -> str:
    """Send a letter."""
    sent.append(to)
    return f"sent to {to}"
