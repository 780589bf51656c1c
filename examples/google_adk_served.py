"""A served agent of Google's ADK that asks its caller before it books.

    pip install 'a2a-adapters[google-adk]'
    python examples/google_adk_served.py

It needs no key: its model is scripted, and asks a remote agent that runs beside it, a function.
"""

from __future__ import annotations

import asyncio

from a2a_adapters_google_adk import A2ATool
from google.adk.agents.llm_agent import LlmAgent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.tool_context import ToolContext  # noqa: TC002 - the framework reads it
from google.genai.types import Content, FunctionCall, Part

from a2a_adapters import RemoteAgent, build_app
from a2a_adapters.testing import running


class ClerkModel(BaseLlm):
    """Stands in for a model: asks the weather service, books, and reports the results."""

    model: str = "clerk"

    async def generate_content_async(self, llm_request, **_):
        results = [part.function_response for part in llm_request.contents[-1].parts]
        if any(results):
            told = " ".join(str(each.response["result"]) for each in results if each)
            parts = [Part(text=told)]
        else:
            parts = [
                Part(function_call=FunctionCall(id="1", name="book", args={"city": "Rome"})),
                Part(function_call=FunctionCall(id="2", name="weather", args={"message": "Rome"})),
            ]
        yield LlmResponse(content=Content(role="model", parts=parts))


def book(city: str, tool_context: ToolContext) -> str:
    """Book a trip."""
    caller = tool_context.state["temp:a2a"].owner or "a guest"
    return f"A trip to {city} is booked for {caller}."


def weather(text: str) -> str:
    """Forecast the weather of a city."""
    return f"It will be sunny in {text}."


async def main() -> None:
    async with running(build_app(weather)) as service, RemoteAgent(service) as remote:
        tools = [
            FunctionTool(book, require_confirmation=True),
            A2ATool(remote, await remote.describe()),
        ]
        clerk = LlmAgent(name="clerk", model=ClerkModel(), tools=tools)
        async with running(build_app(clerk)) as url, RemoteAgent(url) as agent:
            conversation = agent.conversation()
            question = await conversation.send("I need a holiday")
            print(question.question)
            assert 'book({"city":"Rome"})' in question.question
            answer = await conversation.send("yes")
            print(answer.text)
            assert "A trip to Rome is booked for a guest." in answer.text
            assert "It will be sunny in Rome." in answer.text


if __name__ == "__main__":
    asyncio.run(main())
