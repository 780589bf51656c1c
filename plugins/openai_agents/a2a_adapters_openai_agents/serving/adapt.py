"""Picks the adapter for a target."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents import Agent

from a2a_adapters_openai_agents.serving.adapter import OpenAIAgentsAdapter

if TYPE_CHECKING:
    from a2a_adapters import Adapter

adapt = OpenAIAgentsAdapter
"""Wraps an agent, with options."""


def adapt_if_ours(target: object) -> Adapter | None:
    """Wrap an agent; pass on anything else. One agent can serve all runs: it keeps nothing."""
    return OpenAIAgentsAdapter(target) if isinstance(target, Agent) else None
