"""A served workflow of LlamaIndex that asks its caller before it books.

    pip install 'a2a-adapters[llamaindex]'
    python examples/llama_index_served.py

It needs no key: the forecast comes from a remote agent that runs beside it, a function.
"""

from __future__ import annotations

import asyncio

from a2a_adapters_llama_index import A2ALLM
from workflows import Context, Workflow, step
from workflows.events import Event, HumanResponseEvent, InputRequiredEvent, StartEvent, StopEvent

from a2a_adapters import RemoteAgent, build_app, current_request
from a2a_adapters.testing import running


class Trip(StartEvent):
    """The message of the caller."""

    city: str


class Approve(InputRequiredEvent):
    """The question."""

    question: str


class Approval(HumanResponseEvent):
    """The reply."""

    approved: bool


class Clerk(Workflow):
    """Books trips, if the weather permits."""

    def __init__(self, forecaster: A2ALLM) -> None:
        super().__init__()
        self._forecaster = forecaster

    @step
    async def forecast(self, ctx: Context, ev: Trip) -> Approve:
        """Ask the remote agent, and then the caller."""
        ctx.write_event_to_stream(Event(msg="Looking at the weather"))
        weather = await self._forecaster.acomplete(ev.city)
        await ctx.store.set("city", ev.city)
        return Approve(question=f"{weather} Book a trip to {ev.city}?")

    @step
    async def book(self, ctx: Context, ev: Approval) -> StopEvent:
        """Book the trip, unless the caller refuses."""
        request = current_request()
        caller = (request and request.owner) or "a guest"
        city = await ctx.store.get("city")
        booked = f"A trip to {city} is booked for {caller}."
        return StopEvent(result=booked if ev.approved else "Nothing is booked.")


def weather(text: str) -> str:
    """Forecast the weather of a city."""
    return f"It will be sunny in {text}."


async def main() -> None:
    async with running(build_app(weather)) as service, RemoteAgent(service) as remote:
        clerk = Clerk(A2ALLM(remote))
        async with running(build_app(clerk)) as url, RemoteAgent(url) as agent:
            conversation = agent.conversation()
            question = await conversation.send("Rome")
            print(question.question)
            assert question.question == "It will be sunny in Rome. Book a trip to Rome?"
            answer = await conversation.send("yes")
            print(answer.text)
            assert answer.text == "A trip to Rome is booked for a guest."


if __name__ == "__main__":
    asyncio.run(main())
