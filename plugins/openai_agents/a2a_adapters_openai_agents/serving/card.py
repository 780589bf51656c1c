"""Describes an agent for its card, without its instructions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agents import Agent, FunctionTool, Handoff

from a2a_adapters import Skill
from a2a_adapters.plugin import AgentDescription

if TYPE_CHECKING:
    from agents import Tool

_MODES = ("text/plain", "application/json", "*/*")


def describe_agent(agent: Agent[Any]) -> AgentDescription:
    """Describe an agent by its tools and handoffs."""
    tools = [_tool_skill(tool) for tool in agent.tools]
    return AgentDescription(
        name=agent.name,
        description=agent.handoff_description or f"The agent {agent.name}.",
        skills=[*tools, *(_handoff_skill(handoff) for handoff in agent.handoffs)],
        input_modes=_MODES,
        output_modes=_MODES,
    )


def _tool_skill(tool: Tool) -> Skill:
    description = tool.description if isinstance(tool, FunctionTool) else ""
    return Skill(id=tool.name, name=tool.name, description=description or tool.name, tags=("tool",))


def _handoff_skill(handoff: Agent[Any] | Handoff[Any, Any]) -> Skill:
    if isinstance(handoff, Handoff):
        name, description = handoff.agent_name, handoff.tool_description
    else:
        name, description = handoff.name, handoff.handoff_description or handoff.name
    return Skill(id=name, name=name, description=description, tags=("agent",))
