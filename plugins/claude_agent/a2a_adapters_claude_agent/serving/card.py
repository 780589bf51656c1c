"""Describes an agent for its card, without its prompts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_adapters import Skill
from a2a_adapters.plugin import AgentDescription

if TYPE_CHECKING:
    from claude_agent_sdk import ClaudeAgentOptions

_INPUT = ("text/plain", "application/json", "application/pdf", "image/*", "text/*")


def describe_agent(options: ClaudeAgentOptions) -> AgentDescription:
    """Describe an agent by its subagents."""
    return AgentDescription(
        name="Claude",
        description="An agent of the Claude Agent SDK.",
        skills=[
            Skill(id=name, name=name, description=each.description, tags=("subagent",))
            for name, each in (options.agents or {}).items()
        ],
        input_modes=_INPUT,
        output_modes=("text/plain", *(["application/json"] if options.output_format else [])),
    )
