"""Describes an agent or team for its card, without system messages and model settings."""

from __future__ import annotations

from autogen_agentchat.agents import UserProxyAgent
from autogen_agentchat.base import ChatAgent

from a2a_adapters import Skill
from a2a_adapters.plugin import ANY_MODES, AgentDescription
from a2a_adapters_autogen.serving.runners import Runner, accepts_images, participants, tools

_MODES = ("text/plain", "application/json")
_DEFAULT_TEAM = "A team of agents."


def describe_runner(runner: Runner) -> AgentDescription:
    """Describe an agent by its tools, a team by its participants."""
    if isinstance(runner, ChatAgent):
        description = runner.description
        skills = [Skill.of(tool.name, tool.description) for tool in tools(runner)]
    else:
        members = [m for m in participants(runner) if not isinstance(m, UserProxyAgent)]
        names = ", ".join(member.name for member in members)
        is_default = runner.description == _DEFAULT_TEAM
        description = f"A team of {names}." if is_default and names else runner.description
        skills = [Skill.of(member.name, member.description, "agent") for member in members]
    return AgentDescription(
        name=runner.name,
        description=description or f"The agent {runner.name}.",
        skills=skills,
        input_modes=ANY_MODES if accepts_images(runner) else _MODES,
        output_modes=ANY_MODES,
    )
