"""A served agent of Agent Framework that asks its caller before it books.

    pip install 'a2a-adapters[agent-framework]'
    python examples/agent_framework_served.py

It needs no key: its model is scripted, and asks a remote agent that runs beside it, a function.
"""

from __future__ import annotations

import asyncio

from a2a_adapters_agent_framework import a2a_tool
from agent_framework import (
    Agent,
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FunctionInvocationContext,
    FunctionInvocationLayer,
    ResponseStream,
    tool,
)

from a2a_adapters import RemoteAgent, build_app
from a2a_adapters.testing import running


class ClerkClient(FunctionInvocationLayer, ChatMiddlewareLayer, BaseChatClient):
    """Stands in for a model: asks the weather service, books, and reports the results."""

    def _inner_get_response(self, *, messages, stream, **_):
        answer = ResponseStream(self._updates(messages), finalizer=ChatResponse.from_updates)
        return answer if stream else answer.get_final_response()

    async def _updates(self, messages):
        results = [each for each in messages[-1].contents if each.type == "function_result"]
        if results:
            contents = [Content.from_text(" ".join(str(each.result) for each in results))]
        else:
            contents = [
                Content.from_function_call("1", "book", arguments={"city": "Rome"}),
                Content.from_function_call("2", "weather", arguments={"message": "Rome"}),
            ]
        yield ChatResponseUpdate(contents=contents, role="assistant")


@tool(approval_mode="always_require")
def book(city: str, ctx: FunctionInvocationContext) -> str:
    """Book a trip."""
    return f"A trip to {city} is booked for {ctx.kwargs['a2a'].owner or 'a guest'}."


def weather(text: str) -> str:
    """Forecast the weather of a city."""
    return f"It will be sunny in {text}."


async def main() -> None:
    async with running(build_app(weather)) as service, RemoteAgent(service) as remote:
        forecast = a2a_tool(remote, await remote.describe())
        clerk = Agent(client=ClerkClient(), name="clerk", tools=[book, forecast])
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
