"""Remote agents to call, each a function served on this machine."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

from a2a_adapters import (
    AgentRequest,
    BlockedError,
    Data,
    File,
    InputRequired,
    RemoteAgent,
    RemoteOptions,
    TaskMetadata,
    TextDelta,
    ToolCall,
    ToolResult,
    build_app,
)
from a2a_adapters.testing import running
from tests.plugins.autogen.test_input import picture

USAGE = {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7}


async def remembering(request: AgentRequest):
    """Answer with everything that was said in the conversation.

    Which agents do that keep it.
    """
    said = [turn.text for turn in request.history if turn.role == "user"]
    for number, word in enumerate([*said, request.text]):
        yield TextDelta(word if number == 0 else f" | {word}")
    yield TaskMetadata({"usage": USAGE})


async def booking(request: AgentRequest):
    """Book a flight to a city that it asks for."""
    city = yield InputRequired("Which city?")
    yield f"Booked {city.text}."


async def everything(request: AgentRequest):
    """Answer with text, data and a file."""
    yield ToolCall("1", "look", {"at": "it"})
    yield ToolResult("1", "look", ["seen"])
    yield "here:"
    yield Data({"n": 3})
    yield File(content=picture(), media_type="image/png", filename="a.png")
    yield File(content=b"x", media_type="text/csv", filename="b.csv")
    yield File(content=b"x", media_type="image/png", filename="broken.png")


async def reading(request: AgentRequest):
    """Report the parts of the request."""
    for part in request.parts:
        match part:
            case File():
                yield f"[{part.media_type} {len(part.content) > 10}]"
            case Data():
                yield f"[{part.value} {'json_schema' in part.metadata}]"
            case _:
                yield f"[{part.text}]"


async def failing(request: AgentRequest):
    """Fail."""
    raise RuntimeError("a secret")


async def refusing(request: AgentRequest):
    """Reject the message."""
    raise BlockedError("I do not talk about that.")


class Endless:
    """Begins an answer and never ends it; records its cancellation."""

    def __init__(self):
        self.was_stopped = asyncio.Event()

    async def __call__(self, request: AgentRequest):
        """Never end."""
        yield "begun"
        try:
            await asyncio.Event().wait()
        finally:
            self.was_stopped.set()


@asynccontextmanager
async def remote(function, *, progress=False):
    """Serve a function and yield it as a `RemoteAgent`."""
    app = build_app(function, name=f"The {function.__name__} agent!")
    options = RemoteOptions(progress=progress)
    async with running(app) as url, RemoteAgent(url, options=options) as agent:
        yield agent
