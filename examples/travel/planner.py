"""An agent that plans trips: it finds agents by their cards, and asks them concurrently.

TRAVEL_AGENTS="http://127.0.0.1:8001 http://127.0.0.1:8002" a2a-adapters serve planner:make_planner
"""

from __future__ import annotations

import os
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from typing import TYPE_CHECKING

from pydantic import BaseModel
from together import together

from a2a_adapters import (
    AgentReply,
    AgentRequest,
    InputRequired,
    Progress,
    RemoteAgent,
    RemoteOptions,
    ToolCall,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence


class Trip(BaseModel):
    """The result for the caller: the answers of all agents."""

    city: str
    degrees: int
    advice: str
    nights: int
    price: float
    currency: str


@asynccontextmanager
async def make_planner() -> AsyncIterator[object]:
    async with AsyncExitStack() as stack:
        agents = [
            await stack.enter_async_context(RemoteAgent(url, options=RemoteOptions(progress=True)))
            for url in os.environ["TRAVEL_AGENTS"].split()
        ]

        async def planner(request: AgentRequest):
            """Plan a trip to a city: its weather, and a room."""
            talks = {
                "weather": (await find(agents, "weather")).conversation(),
                "room": (await find(agents, "room")).conversation(),
            }
            replies = {}
            streams = {name: talk.stream(request.text) for name, talk in talks.items()}
            async with aclosing(together(streams)) as news:
                async for name, event in news:
                    match event:
                        case AgentReply():
                            replies[name] = event
                        case ToolCall():
                            yield Progress(f"{name}: calls {event.name}")
            while replies["room"].is_question:
                answer = yield InputRequired(replies["room"].question)
                replies["room"] = await talks["room"].send(answer.text)
            [weather], [room] = replies["weather"].data, replies["room"].data
            yield Trip.model_validate(weather | room)

        yield planner


async def find(agents: Sequence[RemoteAgent], word: str) -> RemoteAgent:
    """Return the agent whose card has a word in its description."""
    for agent in agents:
        if word in (await agent.describe()).description:
            return agent
    raise LookupError(f"no agent knows of {word}")
