"""A served agent of the OpenAI Agents SDK that asks before its tool runs.

    pip install 'a2a-adapters[openai-agents]'
    python examples/openai_agents_served.py

It needs no key: its model is a local stand-in.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from agents import Agent, Model, ModelResponse, function_tool
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

from a2a_adapters import RemoteAgent, build_app
from a2a_adapters.testing import running


@function_tool(needs_approval=True)
def book(city: str) -> str:
    """Book a trip."""
    return f"A trip to {city} is booked."


class Clerk(Model):
    """Stands in for a model that books Rome and reports the result."""

    async def get_response(self, *_: Any, **__: Any) -> ModelResponse:
        raise NotImplementedError

    async def stream_response(
        self, _instructions: str | None, items: Any, *_: Any, **__: Any
    ) -> AsyncIterator[Any]:
        last = items[-1]
        item = _said(last["output"]) if "output" in last else _call({"city": "Rome"})
        response = Response(
            id="r",
            created_at=0,
            model="stand-in",
            object="response",
            output=[item],
            parallel_tool_calls=False,
            tool_choice="auto",
            tools=[],
        )
        yield ResponseCompletedEvent(
            response=response, sequence_number=0, type="response.completed"
        )


def _call(arguments: dict[str, str]) -> ResponseFunctionToolCall:
    return ResponseFunctionToolCall(
        arguments=json.dumps(arguments), call_id="1", name="book", type="function_call"
    )


def _said(text: str) -> ResponseOutputMessage:
    content = ResponseOutputText(annotations=[], text=text, type="output_text")
    return ResponseOutputMessage(
        id="m", content=[content], role="assistant", status="completed", type="message"
    )


async def main() -> None:
    clerk = Agent(name="clerk", model=Clerk(), tools=[book])
    async with running(build_app(clerk)) as url, RemoteAgent(url) as agent:
        conversation = agent.conversation()
        question = await conversation.send("I need a holiday")
        print(question.question)
        assert question.state == "input-required"
        answer = await conversation.send("approve")
        print(answer.text)
        assert answer.text == "A trip to Rome is booked."


if __name__ == "__main__":
    asyncio.run(main())
