"""Remote agents to call: functions served on this machine."""

from __future__ import annotations

from contextlib import asynccontextmanager

from a2a_adapters import (
    AgentRequest,
    Data,
    File,
    InputRequired,
    RemoteAgent,
    TaskMetadata,
    TextDelta,
    build_app,
)
from a2a_adapters.testing import running

USAGE = {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7}
PNG = File(content=b"png", media_type="image/png", filename="a.png")


async def remembering(request: AgentRequest):
    """Repeat all messages of the conversation."""
    said = [turn.text for turn in request.history if turn.role == "user"]
    for number, word in enumerate([*said, request.text]):
        yield TextDelta(word if number == 0 else f" | {word}")
    yield TaskMetadata({"usage": USAGE})


async def booking(request: AgentRequest):
    """Book a trip after asking for the destination."""
    city = yield InputRequired("Which city?")
    yield f"Booked {city.text}."


async def reading(request: AgentRequest):
    """Describe the received parts."""
    for part in request.parts:
        match part:
            case File():
                yield f"[{part.filename} {part.media_type} {part.content.decode()}]"
            case Data():
                yield f"[{part.value}]"
            case _:
                yield f"[{part.text}]"


async def everything(request: AgentRequest):
    """Answer with text, data and a file."""
    yield "here:"
    yield Data({"city": "Rome", "degrees": 20})
    yield PNG


async def failing(request: AgentRequest):
    """Fail."""
    raise RuntimeError("hunter2")


@asynccontextmanager
async def served(function):
    """Serve a function, and yield it as a remote agent."""
    async with running(build_app(function)) as url, RemoteAgent(url) as agent:
        yield agent
