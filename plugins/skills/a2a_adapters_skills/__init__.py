"""Serves several targets as the skills of one agent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_adapters.plugin import hookimpl
from a2a_adapters_skills.adapter import Skills, SkillsAdapter

if TYPE_CHECKING:
    from a2a_adapters.plugin import Adapter

__all__ = ["Skills", "SkillsAdapter"]


@hookimpl
def a2a_adapt(target: object) -> Adapter | None:
    """Wrap `Skills`."""
    return SkillsAdapter(target) if isinstance(target, Skills) else None


@hookimpl
def a2a_accepts() -> str:
    """Return the kinds of targets that can be served."""
    return "Skills of several targets"
