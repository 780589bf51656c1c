"""Describes an agent for its card, without its instructions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic_ai import FunctionToolset

from a2a_adapters import Skill
from a2a_adapters.plugin import AgentDescription

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic_ai.agent import AbstractAgent

_MODES = ("text/plain", "application/json", "*/*")
_NAME = "agent"
"""The name of an agent without one."""


def describe_agent(agent: AbstractAgent[Any, Any]) -> AgentDescription:
    """Describe an agent by its name, its description and its function tools."""
    name = agent.name or _NAME
    return AgentDescription(
        name=name,
        description=agent.description or f"The agent {name}.",
        skills=list(_skills(agent)),
        input_modes=_MODES,
        output_modes=_MODES,
    )


def _skills(agent: AbstractAgent[Any, Any]) -> Iterator[Skill]:
    for toolset in agent.toolsets:
        if isinstance(toolset, FunctionToolset):
            for name, tool in toolset.tools.items():
                description = tool.description or name
                yield Skill(id=name, name=name, description=description, tags=("tool",))
