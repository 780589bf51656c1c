"""Agents with scripted models."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from a2a_adapters_pydantic_ai import adapt
from pydantic_ai import (
    Agent,
    ModelResponse,
    TextPart,
    ThinkingPart,
    Tool,
    ToolCallPart,
    UserPromptPart,
)
from pydantic_ai.models.function import DeltaThinkingPart, DeltaToolCall, FunctionModel

from tests.support.adapters import words
from tests.support.agents import items

if TYPE_CHECKING:
    from collections.abc import Callable


__all__ = ["Fake", "adapt", "book", "calling", "made", "results", "said", "script", "tool"]


class Fake(FunctionModel):
    """Answers with what a function makes of the messages it is given; streams words.

    The function returns a text, a chunk of `FunctionModel`, or a list of them; it may be async, or
    raise.
    """

    def __init__(self, answer: Callable[[list[Any]], Any], *, streams: bool = True) -> None:
        self._answer = answer
        self._streams = streams
        self.heard: list[list[Any]] = []
        super().__init__(self._respond, stream_function=self._stream)

    async def _respond(self, messages, info):
        self.heard.append(list(messages))
        return ModelResponse([_part(item) for item in await items(self._answer, messages)])

    async def _stream(self, messages, info):
        self.heard.append(list(messages))
        self.info = info
        for position, item in enumerate(await items(self._answer, messages)):
            if isinstance(item, Exception):
                raise item
            if isinstance(item, DeltaToolCall):
                yield {position: item}
            elif isinstance(item, str) and self._streams:
                for word in words(item):
                    yield word
            else:
                yield item


def _part(item: Any) -> Any:
    match item:
        case Exception():
            raise item
        case DeltaToolCall():
            return ToolCallPart(item.name, item.json_args, item.tool_call_id)
        case str():
            return TextPart(item)
        case {0: DeltaThinkingPart(content=thought)}:
            return ThinkingPart(thought)


def calling(name: str, call_id: str = "c1", **arguments: Any) -> DeltaToolCall:
    """Return a tool call of a model."""
    return DeltaToolCall(name, json.dumps(arguments), tool_call_id=call_id)


def script(*answers: Any, **options: Any) -> Fake:
    """Return a model that gives these answers in turn."""
    left = list(answers)
    return Fake(lambda _: left.pop(0), **options)


def agent(*answers: Any, **options: Any) -> Agent[Any, Any]:
    """Return an agent whose model gives these answers in turn."""
    return made(script(*answers), **options)


def made(model: Fake, **options: Any) -> Agent[Any, Any]:
    """Return an agent with this model."""
    return Agent(model, **{"name": "helper", **options})


def tool(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function, which is a tool as it is."""
    return function


def book(log: list[str]) -> Tool:
    """Return a tool that books a trip after an approval."""

    def book(city: str) -> str:
        """Book a trip."""
        log.append(city)
        return f"{city} booked"

    return Tool(book, requires_approval=True)


def said(messages: list[Any]) -> list[str]:
    """Return the texts of the user's messages."""
    parts = [part for message in messages for part in message.parts]
    return [part.content for part in parts if isinstance(part, UserPromptPart)]


def results(messages: list[Any]) -> dict[str, Any]:
    """Return the results of tools in the last message by the id of the call."""
    parts = (part for part in messages[-1].parts if part.part_kind == "tool-return")
    return {part.tool_call_id: part.content for part in parts}
