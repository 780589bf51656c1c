"""Describes an agent for its card, without its system prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_adapters import Skill
from a2a_adapters.plugin import AgentDescription

if TYPE_CHECKING:
    from collections.abc import Iterator

    from strands import Agent

_MODES = ("text/plain", "application/json", "*/*")


def describe_agent(agent: Agent) -> AgentDescription:
    """Describe an agent by its name, its description and its tools."""
    return AgentDescription(
        name=agent.name,
        description=agent.description or f"The agent {agent.name}.",
        skills=list(_skills(agent)),
        input_modes=_MODES,
        output_modes=_MODES,
    )


def _skills(agent: Agent) -> Iterator[Skill]:
    for name, spec in agent.tool_registry.get_all_tools_config().items():
        yield Skill(id=name, name=name, description=spec["description"] or name, tags=("tool",))
