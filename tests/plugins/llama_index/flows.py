"""Workflows of one step or two."""

from __future__ import annotations

import asyncio
from typing import Any

from pydantic import BaseModel
from workflows import Context, Workflow, step
from workflows.events import (
    Event,
    HumanResponseEvent,
    InputRequiredEvent,
    StartEvent,
    StopEvent,
)

from tests.support.adapters import words


class Flow(Workflow):
    """Answers with what a function makes of the message."""

    def __init__(self, answer: Any, **options: Any) -> None:
        super().__init__(**options)
        self._answer = answer

    @step
    async def answer(self, ctx: Context, ev: StartEvent) -> StopEvent:
        return StopEvent(result=await self._answer(ctx, ev.user_msg))


class Draft(Event):
    text: str


class Checked(Workflow):
    """Writes a draft, streaming it, and checks it in a second step."""

    def __init__(self, draft: str, check: Any) -> None:
        super().__init__()
        self._draft = draft
        self._check = check

    @step
    async def write(self, ctx: Context, ev: StartEvent) -> Draft:
        spoken(ctx, self._draft)
        return Draft(text=self._draft)

    @step
    async def check(self, ev: Draft) -> StopEvent:
        return StopEvent(result=self._check(ev.text))


class Booking(Workflow):
    """Asks for a city, and keeps what it has booked."""

    @step
    async def ask(self, ctx: Context, ev: StartEvent) -> InputRequiredEvent:
        await ctx.store.set("topic", ev.user_msg)
        return InputRequiredEvent(prefix="which city?")

    @step
    async def book(self, ctx: Context, ev: HumanResponseEvent) -> StopEvent:
        for _ in range(3):
            await asyncio.sleep(0)  # other runs go on
        return StopEvent(result=f"to {ev.response}")


class Trip(StartEvent):
    city: str
    days: int = 3


class Offer(StopEvent):
    price: int
    city: str


class Approve(InputRequiredEvent):
    question: str
    price: int


class Approval(HumanResponseEvent):
    approved: bool
    reason: str = ""


class Travel(Workflow):
    """Offers a trip after an approval, with events of its own."""

    @step
    async def ask(self, ctx: Context, ev: Trip) -> Approve:
        await ctx.store.set("city", ev.city)
        return Approve(question="Approve?", price=ev.days * 100)

    @step
    async def offer(self, ctx: Context, ev: Approval) -> Offer:
        city = await ctx.store.get("city") if ev.approved else ev.reason
        return Offer(price=300, city=city)


class City(HumanResponseEvent):
    name: str


class Day(HumanResponseEvent):
    name: str


class Twice(Workflow):
    """Asks twice in one step."""

    @step
    async def ask(self, ctx: Context, ev: StartEvent) -> StopEvent:
        city = await ctx.wait_for_event(City, waiter_event=InputRequiredEvent(msg="City?"))
        day = await ctx.wait_for_event(Day, waiter_event=InputRequiredEvent(msg="Day?"))
        return StopEvent(result=f"{city.name} on {day.name}")


class Counted(BaseModel):
    times: int = 0


class Counting(Workflow):
    """Counts the messages of a conversation in a state of its own."""

    @step
    async def count(self, ctx: Context[Counted], ev: StartEvent) -> StopEvent:
        async with ctx.store.edit_state() as state:
            state.times += 1
            return StopEvent(result=f"{state.times}. {ev.user_msg}")


def spoken(ctx: Context, text: str) -> None:
    """Stream a text, word by word."""
    for word in words(text):
        ctx.write_event_to_stream(Event(delta=word))
