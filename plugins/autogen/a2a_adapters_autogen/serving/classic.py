"""Agents of the classic API (`import autogen`: ag2 and pyautogen before 0.10), known by shape."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from typing import Any, TypeAlias

from a2a_adapters import (
    AgentEvent,
    AgentRequest,
    File,
    InvalidInputError,
    Part,
    TargetError,
    TextDelta,
)
from a2a_adapters.plugin import Adapter, AgentDescription, as_text, without_reasoning

_Events: TypeAlias = AsyncGenerator[AgentEvent, AgentRequest | None]


class ConversableAdapter(Adapter):
    """Serves a `ConversableAgent` by its `a_generate_reply`.

    The conversation is given with every call, so that nothing is kept in the agent and many
    callers can be answered at once. Text and data go in, text comes out.

    Args:
        agent: The agent; its `human_input_mode` must be `"NEVER"`.

    Raises:
        TargetError: The agent would ask for input at the server's console.
    """

    uses_history = True

    def __init__(self, agent: Any) -> None:
        if getattr(agent, "human_input_mode", "NEVER") != "NEVER":
            raise TargetError(
                "this agent asks at the server's console: make it with human_input_mode='NEVER'"
            )
        self._agent = agent

    def describe(self) -> AgentDescription:
        """Describe the agent by its name and description, never by its system message."""
        name = str(self._agent.name)
        description = getattr(self._agent, "description", "") or ""
        # The classic API takes the system message for an agent that has no description.
        if not description or description == getattr(self._agent, "system_message", None):
            description = f"The agent {name}."
        return AgentDescription(name=name, description=description)

    def stream(self, request: AgentRequest) -> _Events:
        """Let the agent reply to the conversation.

        Raises:
            InvalidInputError: The message holds a file, or nothing.
        """
        messages = [_message(turn.role, turn.parts) for turn in request.history if turn.parts]
        return self._answer([*messages, _message("user", request.parts)])

    async def _answer(self, messages: list[dict[str, str]]) -> _Events:
        reply = await self._agent.a_generate_reply(messages=messages)
        text = reply.get("content") if isinstance(reply, Mapping) else reply
        if answer := without_reasoning(str(text or "")):
            yield TextDelta(answer)


def adapt_classic(target: object) -> Adapter | None:
    """Wrap an agent of the classic API, pass on anything else."""
    is_classic = hasattr(type(target), "a_generate_reply") and hasattr(target, "name")
    return ConversableAdapter(target) if is_classic and not hasattr(target, "on_messages") else None


def _message(role: str, parts: Any) -> dict[str, str]:
    return {"role": "user" if role == "user" else "assistant", "content": _text(parts)}


def _text(parts: list[Part]) -> str:
    if any(isinstance(part, File) for part in parts):
        raise InvalidInputError("this agent takes text and data, no files")
    if not (text := as_text(parts)).strip():
        raise InvalidInputError("the message is empty")
    return text
