"""Agents with scripted models, and a driver in place of the server."""

from __future__ import annotations

import inspect
import json
from typing import TYPE_CHECKING, Any

from a2a.types import Message
from pydantic_ai import Agent, UserPromptPart
from pydantic_ai.models.function import DeltaToolCall, FunctionModel

from a2a_adapters import AgentRequest, InputRequired, Output, Text, TextDelta

if TYPE_CHECKING:
    from collections.abc import Callable

    from a2a_adapters import Adapter, AgentEvent, Part


class Fake(FunctionModel):
    """Answers with what a function makes of the messages it is given; streams words.

    The function returns a text, a chunk of `FunctionModel`, or a list of them; it may be async, or
    raise.
    """

    def __init__(self, answer: Callable[[list[Any]], Any], *, streams: bool = True) -> None:
        self._answer = answer
        self._streams = streams
        self.heard: list[list[Any]] = []
        super().__init__(stream_function=self._stream)

    async def _stream(self, messages, info):
        self.heard.append(list(messages))
        self.info = info
        made = self._answer(messages)
        if inspect.isawaitable(made):
            made = await made
        made = made if isinstance(made, list) else [made]
        for position, item in enumerate(made):
            if isinstance(item, Exception):
                raise item
            if isinstance(item, DeltaToolCall):
                yield {position: item}
            elif isinstance(item, str) and self._streams:
                for word in words(item):
                    yield word
            else:
                yield item


def words(text: str) -> list[str]:
    """Split a text into chunks."""
    first, *others = text.split(" ")
    return [first, *(f" {word}" for word in others)]


def calling(name: str, call_id: str = "c1", **arguments: Any) -> DeltaToolCall:
    """Return a tool call of a model."""
    return DeltaToolCall(name, json.dumps(arguments), tool_call_id=call_id)


def script(*answers: Any, **options: Any) -> Fake:
    """Return a model that gives these answers in turn."""
    left = list(answers)
    return Fake(lambda _: left.pop(0), **options)


def agent(*answers: Any, **options: Any) -> Agent[Any, Any]:
    """Return an agent whose model gives these answers in turn."""
    return Agent(script(*answers), **{"name": "helper", **options})


def said(messages: list[Any]) -> list[str]:
    """Return the texts of the user's messages."""
    parts = [part for message in messages for part in message.parts]
    return [part.content for part in parts if isinstance(part, UserPromptPart)]


def results(messages: list[Any]) -> dict[str, Any]:
    """Return the results of tools in the last message by the id of the call."""
    parts = (part for part in messages[-1].parts if part.part_kind == "tool-return")
    return {part.tool_call_id: part.content for part in parts}


def request(*parts: Part | str, **fields: Any) -> AgentRequest:
    """Return a request as the server makes it."""
    fields = {"task_id": "task", "context_id": "context", "message": Message(), **fields}
    return AgentRequest(
        parts=[Text(part) if isinstance(part, str) else part for part in parts], **fields
    )


async def ask(adapter: Adapter, *parts: Part | str, **fields: Any) -> list[AgentEvent]:
    """Return all events of one request, and close the generator as the server does."""
    events = adapter.stream(request(*parts, **fields))
    try:
        return [event async for event in events]
    finally:
        await events.aclose()


async def reply(adapter: Adapter, *parts: Part | str, **fields: Any) -> list[AgentEvent]:
    """Answer a durable question."""
    return await ask(adapter, *parts, resuming=True, **fields)


def deltas(events: list[AgentEvent]) -> list[str]:
    """Return the streamed chunks."""
    return [event.text for event in events if isinstance(event, TextDelta)]


def answer(events: list[AgentEvent]) -> str:
    """Return the answer's text."""
    return "".join(deltas(events))


def data(events: list[AgentEvent]) -> list[Any]:
    """Return the data parts of artifacts and questions."""
    kinds = (Output, InputRequired)
    return [part.value for event in events if isinstance(event, kinds) for part in event.parts]


def only(events: list[AgentEvent], kind: Callable[..., Any]) -> Any:
    """Return the one event of a kind."""
    (event,) = [event for event in events if isinstance(event, kind)]
    return event
