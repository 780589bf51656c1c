"""Agents with scripted models."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING, Any

from a2a_adapters_openai_agents import adapt
from agents import Agent, FunctionTool, Model, Usage, function_tool
from agents.items import ModelResponse
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseFunctionToolCall,
    ResponseOutputItemDoneEvent,
    ResponseOutputMessage,
    ResponseOutputText,
    ResponseTextDeltaEvent,
    ResponseUsage,
)
from openai.types.responses.response_usage import InputTokensDetails, OutputTokensDetails

from tests.support.adapters import words
from tests.support.agents import items

if TYPE_CHECKING:
    from collections.abc import Callable


__all__ = ["Fake", "adapt", "book", "calling", "made", "results", "said", "script", "tool"]

tool = function_tool


class Fake(Model):
    """Answers with a function of the received items, streamed word by word.

    The function returns a text, an output item, an exception to raise, or a list of these; it may
    be async, or raise.
    """

    def __init__(self, answer: Callable[[list[Any]], Any], *, streams: bool = True) -> None:
        self._answer = answer
        self._streams = streams
        self.heard: list[list[Any]] = []

    async def _output(self, given) -> list[Any]:
        received = [{"role": "user", "content": given}] if isinstance(given, str) else list(given)
        self.heard.append(received)
        made = await items(self._answer, received)
        return [message(item) if isinstance(item, str) else item for item in made]

    async def get_response(self, system_instructions, input, *args, **kwargs):  # noqa: A002
        return ModelResponse(await self._output(input), Usage(requests=1), None)

    async def stream_response(self, system_instructions, given, *args, **kwargs):
        output = await self._output(given)
        for position, item in enumerate(output):
            if isinstance(item, Exception):
                raise item
            if self._streams and isinstance(item, ResponseOutputMessage):
                for word in words(item.content[0].text):
                    yield delta(word, item.id, position)
            yield ResponseOutputItemDoneEvent(
                item=item,
                output_index=position,
                sequence_number=0,
                type="response.output_item.done",
            )
        yield completed(output)


def delta(text: str, item_id: str = "m", position: int = 0) -> ResponseTextDeltaEvent:
    return ResponseTextDeltaEvent(
        content_index=0,
        delta=text,
        item_id=item_id,
        logprobs=[],
        output_index=position,
        sequence_number=0,
        type="response.output_text.delta",
    )


def completed(output: list[Any]) -> ResponseCompletedEvent:
    usage = ResponseUsage(
        input_tokens=3,
        output_tokens=4,
        total_tokens=7,
        input_tokens_details=InputTokensDetails.model_validate(
            {"cached_tokens": 0, "cache_write_tokens": 0}
        ),
        output_tokens_details=OutputTokensDetails(reasoning_tokens=0),
    )
    response = Response(
        id="r",
        created_at=0,
        model="fake",
        object="response",
        output=output,
        parallel_tool_calls=True,
        tool_choice="auto",
        tools=[],
        usage=usage,
    )
    return ResponseCompletedEvent(response=response, sequence_number=0, type="response.completed")


def message(text: str) -> ResponseOutputMessage:
    """Return a model's message, with the id that all messages of the chat API have."""
    return ResponseOutputMessage(
        id="__fake_id__",
        content=[ResponseOutputText(annotations=[], text=text, type="output_text")],
        role="assistant",
        status="completed",
        type="message",
    )


def calling(name: str, call_id: str = "c1", **arguments: Any) -> ResponseFunctionToolCall:
    """Return a tool call of a model."""
    return ResponseFunctionToolCall(
        arguments=json.dumps(arguments), call_id=call_id, name=name, type="function_call"
    )


def script(*answers: Any, **options: Any) -> Fake:
    """Return a model that gives these answers in turn."""
    left = list(answers)
    return Fake(lambda _: left.pop(0), **options)


def agent(*answers: Any, **options: Any) -> Agent[Any]:
    """Return an agent whose model gives these answers in turn."""
    return made(script(*answers), **options)


def made(model: Fake, **options: Any) -> Agent[Any]:
    """Return an agent with this model."""
    return Agent(model=model, **{"name": "helper", **options})


def book(log: list[str]) -> FunctionTool:
    """Return a tool that books a trip after an approval."""

    @function_tool(needs_approval=True)
    def book(city: str) -> str:
        """Book a trip."""
        log.append(city)
        return f"booked {city}"

    return book


def said(items: list[Any]) -> list[str]:
    """Return the texts of the user's messages."""
    return [item["content"] for item in items if item.get("role") == "user"]


def results(items: list[Any]) -> dict[str, str]:
    """Return the results of tools after the last message of a model, by the id of the call."""
    outputs = itertools.takewhile(
        lambda item: item.get("type") == "function_call_output", reversed(items)
    )
    return {item["call_id"]: item["output"] for item in outputs}
