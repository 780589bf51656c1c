"""A served agent of Strands that asks its caller before it books.

    pip install 'a2a-adapters[strands]'
    python examples/strands_served.py

It needs no key: its model is a remote agent that runs beside it, a function.
"""

from __future__ import annotations

import asyncio

from a2a_adapters_strands import a2a_tool
from strands import Agent, ToolContext, tool
from strands.models import Model

from a2a_adapters import AgentRequest, Data, RemoteAgent, build_app
from a2a_adapters.testing import running


class ClerkModel(Model):
    """Stands in for a model: asks the weather service, books, and reports the results."""

    def get_config(self):
        """Return no settings."""
        return {}

    def update_config(self, **model_config):
        """Ignore settings."""

    def structured_output(self, *args, **kwargs):
        """Refuse structured output."""
        raise NotImplementedError

    async def stream(self, messages, *_, **__):
        """Yield two calls of tools, or their results."""
        results = [each["toolResult"] for each in messages[-1]["content"] if "toolResult" in each]
        yield {"messageStart": {"role": "assistant"}}
        if results:
            text = " ".join(each["content"][0]["text"] for each in results)
            yield {"contentBlockStart": {"start": {}}}
            yield {"contentBlockDelta": {"delta": {"text": text}}}
            yield {"contentBlockStop": {}}
        else:
            for name, given in (("book", '{"city": "Rome"}'), ("weather", '{"message": "Rome"}')):
                yield {
                    "contentBlockStart": {"start": {"toolUse": {"name": name, "toolUseId": name}}}
                }
                yield {"contentBlockDelta": {"delta": {"toolUse": {"input": given}}}}
                yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn" if results else "tool_use"}}


@tool(context=True)
def book(city: str, tool_context: ToolContext) -> str:
    """Book a trip."""
    request: AgentRequest = tool_context.invocation_state["a2a"]
    if not tool_context.interrupt("approval", {"question": f"Book a trip to {city}?"}):
        return "Nothing is booked."
    return f"A trip to {city} is booked for {request.owner or 'a guest'}."


def weather(text: str) -> str:
    """Forecast the weather of a city."""
    return f"It will be sunny in {text}."


async def main() -> None:
    async with running(build_app(weather)) as service, RemoteAgent(service) as remote:
        forecast = a2a_tool(remote, await remote.describe())

        def clerk() -> Agent:
            return Agent(model=ClerkModel(), name="clerk", tools=[book, forecast])

        async with running(build_app(clerk)) as url, RemoteAgent(url) as agent:
            conversation = agent.conversation()
            question = await conversation.send("I need a holiday")
            print(question.question)
            assert question.question == "Book a trip to Rome?"
            answer = await conversation.send(Data(True))
            print(answer.text)
            assert "A trip to Rome is booked for a guest." in answer.text
            assert "It will be sunny in Rome." in answer.text


if __name__ == "__main__":
    asyncio.run(main())
