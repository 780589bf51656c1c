"""A remote agent as a model or a tool of a framework, and its description for models."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from pydantic import BaseModel, Field

from a2a_adapters.calling.agent import RemoteAgent
from a2a_adapters.contract.plugins import installed_plugins

if TYPE_CHECKING:
    from typing import Unpack

    from a2a_adapters.calling.options import AgentOptions
    from a2a_adapters.contract.adapter import AgentDescription, Skill

__all__ = [
    "ToolDescription",
    "ToolFactory",
    "ToolInput",
    "remote_llm",
    "remote_tool",
    "tool_answer",
]

_ANSWER_IT = "(It asks you. Call this tool again with the answer.)"
_SAY_IT_ALL = "(It asks you. Call this tool again with the whole request, this included.)"

# What OpenAI's API takes, the strictest of the usual ones.
_NAME_LENGTH = 64
_DESCRIPTION_LENGTH = 1_024
_NOT_IN_A_NAME = re.compile(r"[^a-zA-Z0-9_-]+")


@dataclass(frozen=True, slots=True)
class ToolDescription:
    """A remote agent, or one of its skills, as a model is told of a tool.

    Both texts are as long, and the name is of the characters, that model providers accept.

    Attributes:
        name: The tool's name.
        description: What it does.
        skill_id: The skill that it stands for; None for the whole agent.
    """

    name: str
    description: str
    skill_id: str | None = None

    @classmethod
    def of_agent(cls, about: AgentDescription) -> Self:
        """Return the description of an agent, its skills included."""
        skills = "".join(
            f"\n- {skill.name}: {skill.description}"
            for skill in about.skills
            if skill.description != about.description
        )
        text = f"Asks the agent {about.name}: {about.description}"
        return cls(_name(about.name), _clip(f"{text}\nIt can:{skills}" if skills else text))

    @classmethod
    def of_skill(cls, skill: Skill) -> Self:
        """Return the description of one skill, its examples included."""
        examples = "".join(f"\nExample: {example}" for example in skill.examples)
        return cls(_name(skill.name or skill.id), _clip(f"{skill.description}{examples}"), skill.id)


class ToolInput(BaseModel):
    """The arguments with which a model calls an agent."""

    message: str = Field(description="What to ask the agent or tell it, in full sentences.")


class ToolFactory:
    """Makes a framework's tools from the card of a remote agent.

    Mixin for a framework's class of tools; each implements `_of`.
    """

    @classmethod
    def from_agent(cls, agent: str | RemoteAgent, **options: Unpack[AgentOptions]) -> Self:
        """Return a tool for an agent, named and described by its card.

        Args:
            agent: The agent, or its URL.
            **options: For an agent that is given by its URL; see `AgentOptions`.

        Raises:
            RemoteAgentError: The card cannot be read.
        """
        remote = RemoteAgent.of(agent, **options)
        return cls._of(remote, ToolDescription.of_agent(remote.describe_sync()))

    @classmethod
    async def afrom_agent(cls, agent: str | RemoteAgent, **options: Unpack[AgentOptions]) -> Self:
        """`from_agent` in async code."""
        remote = RemoteAgent.of(agent, **options)
        return cls._of(remote, ToolDescription.of_agent(await remote.describe()))

    @classmethod
    def per_skill(cls, agent: str | RemoteAgent, **options: Unpack[AgentOptions]) -> list[Self]:
        """Return a tool for each skill of an agent's card; for the arguments see `from_agent`.

        Raises:
            RemoteAgentError: The card cannot be read.
        """
        remote = RemoteAgent.of(agent, **options)
        skills = remote.describe_sync().skills
        return [cls._of(remote, ToolDescription.of_skill(skill)) for skill in skills]

    @classmethod
    async def aper_skill(
        cls, agent: str | RemoteAgent, **options: Unpack[AgentOptions]
    ) -> list[Self]:
        """`per_skill` in async code."""
        remote = RemoteAgent.of(agent, **options)
        skills = (await remote.describe()).skills
        return [cls._of(remote, ToolDescription.of_skill(skill)) for skill in skills]

    @classmethod
    def _of(cls, agent: RemoteAgent, tool: ToolDescription) -> Self:
        raise NotImplementedError


def tool_answer(text: str, *, asks: bool, is_kept: bool = True) -> str:
    """Return what a model is told of an agent's answer.

    Args:
        text: The answer.
        asks: Whether it is a question.
        is_kept: Whether the tool's next call is in the same conversation.
    """
    hint = (_ANSWER_IT if is_kept else _SAY_IT_ALL) if asks else ""
    return "\n".join(filter(None, (text, hint))) or "(The agent answered nothing.)"


def _name(name: str) -> str:
    return _NOT_IN_A_NAME.sub("_", name).strip("_")[:_NAME_LENGTH] or "agent"


def _clip(text: str) -> str:
    is_short = len(text) <= _DESCRIPTION_LENGTH
    return text if is_short else f"{text[: _DESCRIPTION_LENGTH - 1]}…"


def remote_llm(agent: str | RemoteAgent, framework: str, **options: Unpack[AgentOptions]) -> object:
    """Return a remote agent as a language model of a framework.

    Args:
        agent: The agent, or its URL.
        framework: The framework's name, "langchain" for instance.
        **options: For an agent that is given by its URL; see `AgentOptions`.

    Raises:
        NoAdapterError: No plugin makes language models of that framework.
        MissingExtraError: The framework is not installed.
    """
    return installed_plugins().remote_llm(RemoteAgent.of(agent, **options), framework)


def remote_tool(
    agent: str | RemoteAgent, framework: str, **options: Unpack[AgentOptions]
) -> object:
    """Return a remote agent as a tool of a framework; its card is read for that.

    Args:
        agent: The agent, or its URL.
        framework: The framework's name, "langchain" for instance.
        **options: For an agent that is given by its URL; see `AgentOptions`.

    Raises:
        NoAdapterError: No plugin makes tools of that framework.
        MissingExtraError: The framework is not installed.
        RemoteAgentError: The card cannot be had.
    """
    return installed_plugins().remote_tool(RemoteAgent.of(agent, **options), framework)
