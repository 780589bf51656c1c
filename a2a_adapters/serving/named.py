"""A target with what its card says."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["NamedTarget"]


@dataclass(frozen=True, slots=True)
class NamedTarget:
    """One of several targets, with the words of its card in place of its own.

    Attributes:
        target: As for `build_app`.
        name: The agent's name; by default the one it is served by.
        description: What it does; by default the target's own words.
    """

    target: object
    name: str | None = None
    description: str | None = None
