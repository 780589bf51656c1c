"""Converts LangChain messages to parts for a remote agent, and its replies to message content."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, cast

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)

from a2a_adapters import AgentReply, Data, File, Part, Text
from a2a_adapters.plugin import dialogue
from a2a_adapters_langchain.serving.content import from_block, to_block

if TYPE_CHECKING:
    from collections.abc import Sequence

    from langchain_core.messages.ai import UsageMetadata

AGENT = "agent"
"""Key in `response_metadata`: the name of the agent that wrote a message."""

_QUESTION_STATES = frozenset({"input-required", "auth-required"})


def last_answer(
    messages: Sequence[BaseMessage], agent: str
) -> tuple[AIMessage | None, Sequence[BaseMessage]]:
    """Return the last message that the agent of this name wrote, and those that follow it."""
    for position in reversed(range(len(messages))):
        message = messages[position]
        if isinstance(message, AIMessage) and message.response_metadata.get(AGENT) == agent:
            return message, messages[position + 1 :]
    return None, messages


def is_question(message: AIMessage) -> bool:
    """Whether the message is a question of an agent whose task waits for the answer."""
    return message.response_metadata.get("state") in _QUESTION_STATES


def to_parts(messages: Sequence[BaseMessage]) -> list[Part]:
    """Convert messages to the parts of one message, a dialogue unless the user wrote them all.

    Raises:
        ValueError: A file is known only by an id of the model's provider.
    """
    return dialogue((_speaker(message), _parts(message)) for message in messages)


def _parts(message: BaseMessage) -> list[Part]:
    if isinstance(message.content, str):
        return [Text(message.content)]
    return [part for block in message.content_blocks if (part := _part(dict(block))) is not None]


def _part(block: dict[str, Any]) -> Part | None:
    """Convert a content block; None for reasoning, tool calls and the like."""
    match block:
        case {"type": "text", "text": str(text)}:
            return Text(text)
        case {"type": "text-plain", "text": str(text)}:
            return File(content=text.encode(), media_type="text/plain")
        case {"type": "text-plain"}:
            return from_block({"mime_type": "text/plain", **block, "type": "file"})
        case {"type": "non_standard", "value": {"type": "data", "data": value}}:
            return Data(value)
        case {"type": "non_standard", "value": value}:
            return Data(value)
        case {"file_id": str()}:
            raise ValueError("a file that is known by an id only cannot be sent to an agent")
        case _:
            return from_block(block)


def _speaker(message: BaseMessage) -> str:
    match message:
        case HumanMessage():
            return "User"
        case SystemMessage():
            return "System"
        case ToolMessage():
            return f"Tool {message.name}" if message.name else "Tool"
        case _:
            return "Assistant"


def content_of(text: str, reply: AgentReply) -> str | list[str | dict[Any, Any]]:
    """Return `text` and the files and data of a reply as the content of a message.

    If the reply has no text, its data is also written as JSON text, for readers of text only.
    """
    blocks: list[str | dict[Any, Any]] = [{"type": "text", "text": text}] if text else []
    if not reply.text and reply.data:
        blocks.append({"type": "text", "text": reply.data_text})
    for part in reply.parts:
        if isinstance(part, Data):
            blocks.append(data_block(part.value))
        elif isinstance(part, File):
            blocks.append(to_block(part))
    return blocks if len(blocks) > bool(text) else text


def data_block(value: object) -> dict[Any, Any]:
    """Wrap data as a content block, because LangChain may mistake a bare value for its own."""
    return {"type": "non_standard", "value": {"type": "data", "data": value}}


def metadata_of(reply: AgentReply, agent: str) -> dict[str, Any]:
    """Return the origin of a reply and the state of its task."""
    return {
        "model_provider": "a2a",
        "model_name": agent,
        AGENT: agent,
        "context_id": reply.context_id,
        "task_id": reply.task_id,
        "state": reply.state,
        **({"question": reply.question} if reply.is_question else {}),
        **({"metadata": dict(reply.metadata)} if reply.metadata else {}),
        **({"corrected_text": reply.text} if reply.is_corrected else {}),
    }


def usage_of(reply: AgentReply) -> UsageMetadata | None:
    """Return the token usage of a reply, if the agent reports it."""
    usage = reply.counted_usage(__name__)
    return cast("UsageMetadata", asdict(usage)) if usage else None
