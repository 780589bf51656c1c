"""Messages to and from remote agents: conversion, streaming and cancellation."""

from __future__ import annotations

import asyncio
import json
from contextlib import aclosing
from io import BytesIO
from typing import TYPE_CHECKING

from autogen_agentchat.messages import BaseChatMessage, StructuredMessage
from autogen_core import FunctionCall, Image
from autogen_core.models import (
    AssistantMessage,
    FunctionExecutionResultMessage,
    LLMMessage,
    RequestUsage,
    SystemMessage,
    UserMessage,
)
from PIL import Image as Picture

from a2a_adapters import AgentReply, Data, Part, Text
from a2a_adapters.concurrency import produced
from a2a_adapters.plugin import dialogue
from a2a_adapters_autogen.serving.output import image_file

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
    from typing import Unpack

    from autogen_core import CancellationToken

    from a2a_adapters import Conversation, RemoteAgent, RemoteEvent, SendOptions

USER = "user"


def model_parts(messages: Sequence[LLMMessage]) -> list[Part]:
    """Convert a model's input to the parts of one message."""
    if all(isinstance(message, UserMessage) for message in messages):
        return [part for message in messages for part in _model_parts(message)]
    return dialogue((_speaker(message), _model_parts(message)) for message in messages)


def chat_parts(messages: Sequence[BaseChatMessage]) -> list[Part]:
    """Convert the messages of a team to the parts of one message."""
    if all(message.source == USER for message in messages):
        return [part for message in messages for part in _chat_parts(message)]
    return dialogue((message.source, _chat_parts(message)) for message in messages)


def _speaker(message: LLMMessage) -> str:
    match message:
        case SystemMessage():
            return "System"
        case FunctionExecutionResultMessage():
            return "Tool"
        case UserMessage(source=source) | AssistantMessage(source=source):
            return "User" if source == USER else source


def _model_parts(message: LLMMessage) -> list[Part]:
    if isinstance(message, FunctionExecutionResultMessage):
        return [Text(f"{result.name}: {result.content}") for result in message.content]
    content = message.content
    return [Text(content)] if isinstance(content, str) else [_part(item) for item in content]


def _chat_parts(message: BaseChatMessage) -> list[Part]:
    if isinstance(message, StructuredMessage):
        content = message.content
        return [Data(content, schema=type(content).model_json_schema())]
    return _model_parts(message.to_model_message())


def _part(item: str | Image | FunctionCall) -> Part:
    match item:
        case Image():
            return image_file(item)
        case FunctionCall(name=name, arguments=arguments):
            return Text(f"(calls {name} with {arguments})")
        case _:
            return Text(item)


def images_of(reply: AgentReply) -> list[Image]:
    """Return the images of an answer, without those that cannot be read."""
    images = []
    for file in reply.files:
        if file.content and file.media_type.startswith("image/"):
            try:
                images.append(Image(Picture.open(BytesIO(file.content))))
            except Exception:  # noqa: S112 - the text has its name all the same
                continue
    return images


def usage_of(reply: AgentReply) -> RequestUsage:
    """Return the token usage of an answer, as far as the agent reports it."""
    usage = reply.counted_usage(__name__)
    return RequestUsage(
        prompt_tokens=usage.input_tokens if usage else 0,
        completion_tokens=usage.output_tokens if usage else 0,
    )


def json_text(value: object) -> str:
    """Return a tool's arguments or result as the text that AutoGen stores."""
    return value if isinstance(value, str) else json.dumps(value)


def answer_events(
    conversation: Conversation,
    parts: Sequence[Part],
    token: CancellationToken | None,
    **options: Unpack[SendOptions],
) -> AsyncGenerator[RemoteEvent]:
    """Send a message and yield the events of its answer.

    The last event is the whole `AgentReply`. A separate task reads them, because a token can
    only cancel a future. Closing the generator early cancels the remote task.

    Raises:
        RemoteAgentError: The agent does not answer.
        asyncio.CancelledError: The token was cancelled.
    """

    async def produce(put: Callable[[RemoteEvent], Awaitable[None]]) -> None:
        reading = asyncio.current_task()
        if token is not None and reading is not None:
            token.link_future(reading)
        async with aclosing(conversation.stream(parts, **options)) as stream:
            async for event in stream:
                await put(event)

    return produced(produce)


def saved(conversation: Conversation) -> Mapping[str, str]:
    """Return a conversation as a state: its context id and the task that waits, if any."""
    return {"context_id": conversation.context_id, "task_id": conversation.task_id}


def restored(agent: RemoteAgent, state: Mapping[str, str]) -> Conversation:
    """Return the conversation of a saved state."""
    conversation = agent.conversation()
    conversation.context_id, conversation.task_id = state["context_id"], state["task_id"]
    return conversation
