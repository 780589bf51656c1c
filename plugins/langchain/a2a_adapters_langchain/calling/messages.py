"""LangChain messages to what a remote agent is sent, and its answer to a message."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)

from a2a_adapters import AgentReply, Data, File, Part, Text, dialogue
from a2a_adapters_langchain.serving.content import from_block, to_block

if TYPE_CHECKING:
    from collections.abc import Sequence

    from langchain_core.messages.ai import UsageMetadata

AGENT = "agent"
"""Key in `response_metadata` of the name of the agent that wrote a message."""

_QUESTIONS = frozenset({"input-required", "auth-required"})


def last_answer(messages: Sequence[BaseMessage], agent: str) -> AIMessage | None:
    """Return the last message that the agent of that name wrote."""
    for message in reversed(messages):
        if isinstance(message, AIMessage) and message.response_metadata.get(AGENT) == agent:
            return message
    return None


def messages_after(
    messages: Sequence[BaseMessage], answer: BaseMessage | None
) -> Sequence[BaseMessage]:
    """Return the messages that follow `answer`; all of them if none does."""
    for position, message in enumerate(messages):
        if message is answer:
            return messages[position + 1 :] or messages
    return messages


def to_parts(messages: Sequence[BaseMessage]) -> list[Part]:
    """Return messages as the parts of one, as a dialogue unless all are the user's."""
    if all(isinstance(message, HumanMessage) for message in messages):
        return [part for message in messages for part in _parts(message)]
    return dialogue((_speaker(message), _parts(message)) for message in messages)


def _parts(message: BaseMessage) -> list[Part]:
    if isinstance(message.content, str):
        return [Text(message.content)]
    return [part for block in message.content_blocks if (part := _part(dict(block))) is not None]


def _part(block: dict[str, Any]) -> Part | None:
    """Return a content block as a part; None for reasoning, tool calls and the like."""
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
        case ToolMessage(name=str(name)) if name:
            return f"Tool {name}"
        case ToolMessage():
            return "Tool"
        case _:
            return "Assistant"


def late_blocks(reply: AgentReply) -> list[str | dict[Any, Any]]:
    """Return what of an answer is not text, as content blocks.

    Data is a non-standard block; of an answer without any text it is written as JSON text too,
    for what reads text only.
    """
    blocks: list[str | dict[Any, Any]] = []
    if not reply.text and reply.data:
        blocks.append({"type": "text", "text": reply.data_text})
    for part in reply.parts:
        if isinstance(part, Data):
            blocks.append(data_block(part.value))
        elif isinstance(part, File):
            blocks.append(to_block(part))
    return blocks


def data_block(value: object) -> dict[Any, Any]:
    """Return data as a content block.

    It is wrapped: LangChain takes a bare value for a block of its own if it looks like one.
    """
    return {"type": "non_standard", "value": {"type": "data", "data": value}}


def to_message(reply: AgentReply, text: str, told: dict[str, Any]) -> AIMessage:
    """Return an answer as a message.

    Args:
        reply: The answer.
        text: Its text as far as it is wanted.
        told: What is said about it.
    """
    late = late_blocks(reply)
    content = [*([{"type": "text", "text": text}] if text else []), *late] if late else text
    return AIMessage(
        content=content,
        usage_metadata=usage_of(reply),
        response_metadata=told,
    )


def metadata_of(reply: AgentReply, agent: str) -> dict[str, Any]:
    """Return where an answer comes from and how its task stands."""
    return {
        "model_provider": "a2a",
        "model_name": agent,
        AGENT: agent,
        "context_id": reply.context_id,
        "task_id": reply.task_id,
        "state": reply.state,
        **({"question": reply.question} if reply.state in _QUESTIONS else {}),
        **({"metadata": dict(reply.metadata)} if reply.metadata else {}),
    }


def is_question(message: AIMessage) -> bool:
    """Tell whether the agent asks and its task waits for the answer."""
    return message.response_metadata.get("state") in _QUESTIONS


def usage_of(reply: AgentReply) -> UsageMetadata | None:
    """Return the tokens an answer took, if the agent tells."""
    if (usage := reply.usage) is None:
        return None
    return {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "total_tokens": usage.total_tokens,
    }
