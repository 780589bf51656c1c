"""A served agent of Pydantic AI that asks for approval and for a date before it books.

    pip install 'a2a-adapters[pydantic-ai]'
    python examples/pydantic_ai_served.py

It needs no key: its model is a local stand-in.
"""

from __future__ import annotations

import asyncio

from pydantic_ai import Agent, CallDeferred, RunContext
from pydantic_ai.models.function import DeltaToolCall, FunctionModel

from a2a_adapters import AgentRequest, Data, RemoteAgent, build_app
from a2a_adapters.testing import running


async def clerk_model(messages, _):
    """Stand in for a model that makes two calls at once and reports their results."""
    results = [part for part in messages[-1].parts if part.part_kind == "tool-return"]
    if results:
        yield " ".join(str(part.content) for part in results)
        return
    yield {0: DeltaToolCall("book", '{"city": "Rome"}', tool_call_id="trip")}
    yield {1: DeltaToolCall("ask_user", '{"question": "When?"}', tool_call_id="date")}


clerk = Agent(FunctionModel(stream_function=clerk_model), name="clerk", deps_type=AgentRequest)


@clerk.tool(requires_approval=True)
def book(ctx: RunContext[AgentRequest], city: str) -> str:
    """Book a trip."""
    return f"A trip to {city} is booked for {ctx.deps.owner or 'a guest'}."


@clerk.tool_plain
def ask_user(question: str) -> str:
    """Ask the user a question."""
    raise CallDeferred({"question": question}, kind="question")


async def main() -> None:
    async with running(build_app(clerk)) as url, RemoteAgent(url) as agent:
        conversation = agent.conversation()
        question = await conversation.send("I need a holiday")
        print(question.question)
        assert question.state == "input-required"
        answer = await conversation.send(Data({"trip": True, "date": "In May."}))
        print(answer.text)
        assert answer.text == "A trip to Rome is booked for a guest. In May."


if __name__ == "__main__":
    asyncio.run(main())
