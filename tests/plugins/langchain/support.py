"""A scripted chat model, and a driver in place of the server."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from a2a.types import Message
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.tools import tool
from pydantic import Field

from a2a_adapters import AgentRequest, InputRequired, Output, Text, TextDelta
from tests.support.adapters import answer as streamed_text

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from a2a_adapters import AgentEvent, Part
    from a2a_adapters.plugin import Adapter

USAGE = {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7}

sent: list[str] = []


class Scripted(BaseChatModel):
    """Answers with the lines of a script: text, messages, or functions of the input messages."""

    script: list[Any]
    seen: list[list[BaseMessage]] = Field(default_factory=list)
    gate: asyncio.Event | None = None
    """If set, the model waits for this event after its first word."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _next(self, messages: list[BaseMessage]) -> AIMessage:
        line = self.script[len(self.seen) % len(self.script)]
        self.seen.append(messages)
        line = line(messages) if callable(line) else line
        message = AIMessage(line) if isinstance(line, str) else line.model_copy(deep=True)
        return (
            message
            if message.usage_metadata
            else message.model_copy(update={"usage_metadata": dict(USAGE)})
        )

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        return ChatResult(generations=[ChatGeneration(message=self._next(messages))])

    async def _astream(
        self, messages, stop=None, run_manager=None, **kwargs
    ) -> AsyncIterator[ChatGenerationChunk]:
        message = self._next(messages)
        for number, content in enumerate(_pieces(message)):
            chunk = ChatGenerationChunk(message=AIMessageChunk(content=content))
            if run_manager:
                await run_manager.on_llm_new_token(chunk.text, chunk=chunk)
            yield chunk
            if number == 0 and self.gate:
                await self.gate.wait()
        yield ChatGenerationChunk(
            message=AIMessageChunk(
                content="",
                tool_call_chunks=[
                    tool_call_chunk(
                        name=call["name"], args=json.dumps(call["args"]), id=call["id"], index=index
                    )
                    for index, call in enumerate(message.tool_calls)
                ],
                usage_metadata=message.usage_metadata,
                chunk_position="last",
            )
        )

    def bind_tools(self, tools, **kwargs):
        return self


class Whole(Scripted):
    """A model that cannot stream."""

    disable_streaming: bool = True


def _pieces(message: AIMessage) -> list[Any]:
    if not isinstance(message.content, str):
        return [[block] for block in message.content]
    words = message.content.split(" ") if message.content else []
    return [word if number == 0 else f" {word}" for number, word in enumerate(words)]


def last_text(messages: list[BaseMessage]) -> str:
    """Repeat the last message."""
    return f"heard {messages[-1].text}"


def kinds(messages: list[BaseMessage]) -> str:
    """List the types of the messages."""
    return ",".join("ai" if isinstance(m, AIMessage) else m.type for m in messages)


def call(name: str, call_id: str = "c1", **arguments: Any) -> dict[str, Any]:
    """Return a tool call."""
    return {"name": name, "args": arguments, "id": call_id}


def calling(*calls: dict[str, Any], text: str = "") -> AIMessage:
    """Return a message with tool calls."""
    return AIMessage(text, tool_calls=list(calls))


def request(*parts: Part | str, **fields: Any) -> AgentRequest:
    """Return a request as the server makes it."""
    fields = {"task_id": "task", "context_id": "context", "message": Message(), **fields}
    return AgentRequest(
        parts=[Text(part) if isinstance(part, str) else part for part in parts], **fields
    )


def reply(question: InputRequired, *parts: Part | str, **fields: Any) -> AgentRequest:
    """Return the request that answers a question."""
    return request(*parts, resuming=True, resume_metadata=question.metadata, **fields)


async def run(adapter: Adapter, asked: AgentRequest) -> list[AgentEvent]:
    """Return all events of one request, and close the generator as the server does."""
    events = adapter.stream(asked)
    try:
        return [event async for event in events]
    finally:
        await events.aclose()


async def ask(adapter: Adapter, *parts: Part | str, **fields: Any) -> list[AgentEvent]:
    """Send a message and return its events."""
    return await run(adapter, request(*parts, **fields))


def deltas(events: list[AgentEvent]) -> list[str]:
    """Return the streamed chunks."""
    return [event.text for event in events if isinstance(event, TextDelta)]


def answer(events: list[AgentEvent]) -> str:
    """Return the final task's text: streamed text, and text artifacts on lines of their own."""
    texts = [streamed_text(events)]
    for event in events:
        if isinstance(event, Output):
            texts += [part.text for part in event.parts if isinstance(part, Text)]
    return "\n".join(filter(None, texts))


def only(events: list[AgentEvent], kind: Callable[..., Any]) -> Any:
    """Return the one event of a kind."""
    (event,) = [event for event in events if isinstance(event, kind)]
    return event


@tool
def send(to: str) -> str:
    """Send a letter."""
    sent.append(to)
    return f"sent to {to}"
