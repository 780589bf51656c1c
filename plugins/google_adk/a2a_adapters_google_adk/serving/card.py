"""Describes an agent for its card, without its instructions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from google.adk.agents.base_agent import BaseAgent
from google.adk.agents.llm_agent import LlmAgent
from google.adk.tools.base_tool import BaseTool

from a2a_adapters import Skill
from a2a_adapters.plugin import AgentDescription

if TYPE_CHECKING:
    from collections.abc import Iterator

    from a2a_adapters_google_adk.serving.targets import Root

_MODES = ("text/plain", "application/json", "*/*")


def describe_root(root: Root) -> AgentDescription:
    """Describe an agent or a workflow by its name, its description, its tools and sub-agents."""
    return AgentDescription(
        name=root.name,
        description=root.description or f"The agent {root.name}.",
        skills=[*_tools(root), *_agents(root)],
        input_modes=_MODES,
        output_modes=_MODES,
    )


def _tools(root: Root) -> Iterator[Skill]:
    for tool in root.tools if isinstance(root, LlmAgent) else ():
        if isinstance(tool, BaseTool):
            yield _skill(tool.name, tool.description, "tool")
        elif callable(tool):
            yield _skill(tool.__name__, (tool.__doc__ or "").strip().partition("\n")[0], "tool")


def _agents(root: Root) -> Iterator[Skill]:
    for agent in root.sub_agents if isinstance(root, BaseAgent) else ():
        yield _skill(agent.name, agent.description, "agent")


def _skill(name: str, description: str, tag: str) -> Skill:
    return Skill(id=name, name=name, description=description or name, tags=(tag,))
