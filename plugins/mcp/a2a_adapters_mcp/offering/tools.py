"""The offered tools: one per agent or per skill."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from mcp.types import Tool

from a2a_adapters.plugin import ToolDescription
from a2a_adapters_mcp.offering.arguments import input_schema
from a2a_adapters_mcp.offering.results import output_schema

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from a2a_adapters.dialects import DialectAgent

By: TypeAlias = Literal["agent", "skill"]
"""The unit that each tool represents."""

_LONGEST_SUFFIX = 5
_SKILL = "skill"


@dataclass(frozen=True, slots=True)
class AgentTool:
    """A tool and its agent.

    Attributes:
        tool: Description for clients.
        agent_id: The agent's id on its server.
        agent: The agent.
        skill: Id of the skill it represents; None for the whole agent.
    """

    tool: Tool
    agent_id: str
    agent: DialectAgent
    skill: str | None

    @property
    def is_typed(self) -> bool:
        """Whether results have a schema."""
        return self.tool.outputSchema is not None

    @property
    def metadata(self) -> Mapping[str, str]:
        """Message metadata that selects the skill."""
        return {_SKILL: self.skill} if self.skill else {}


def agent_tools(agents: Mapping[str, DialectAgent], by: By) -> dict[str, AgentTool]:
    """Return the tools by unique names."""
    tools: dict[str, AgentTool] = {}
    for agent_id, agent in agents.items():
        for about in _described(agent, by):
            name = _unique(about.name, tools)
            tool = Tool.model_validate(
                {
                    "name": name,
                    "description": about.description,
                    "inputSchema": input_schema(agent.about, about.skill_id),
                    "outputSchema": output_schema(agent.about, about.skill_id),
                }
            )
            tools[name] = AgentTool(tool, agent_id, agent, about.skill_id)
    return tools


def _described(agent: DialectAgent, by: By) -> Iterator[ToolDescription]:
    if by == "agent" or not agent.about.skills:
        yield ToolDescription.of_agent(agent.about)
        return
    for skill in agent.about.skills:
        yield ToolDescription.of_skill(skill)


def _unique(name: str, taken: Mapping[str, object]) -> str:
    unique, number = name, 2
    while unique in taken:
        unique = f"{name[: -_LONGEST_SUFFIX or None] if len(name) > 59 else name}_{number}"
        number += 1
    return unique
