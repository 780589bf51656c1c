"""What a model is told of a remote agent that it may call as a tool."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from a2a_adapters.contract.adapter import AgentDescription, Skill

__all__ = ["ToolDescription", "tool_answer"]

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
