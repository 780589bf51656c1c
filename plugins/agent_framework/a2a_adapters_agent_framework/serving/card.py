"""Describes an agent for its card, without its instructions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_framework import FunctionTool

from a2a_adapters import Skill
from a2a_adapters.plugin import AgentDescription

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_framework import Agent

_MODES = ("text/plain", "application/json", "*/*")


def describe_agent(agent: Agent) -> AgentDescription:
    """Describe an agent by its name, its description and its tools."""
    name = agent.name or "agent"
    return AgentDescription(
        name=name,
        description=agent.description or f"The agent {name}.",
        skills=list(_skills(agent)),
        input_modes=_MODES,
        output_modes=_MODES,
    )


def _skills(agent: Agent) -> Iterator[Skill]:
    for tool in agent.default_options.get("tools") or ():
        if isinstance(tool, FunctionTool):
            description = tool.description or tool.name
            yield Skill(id=tool.name, name=tool.name, description=description, tags=("tool",))
