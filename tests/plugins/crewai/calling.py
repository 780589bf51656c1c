"""Remote agents for the tests of calling."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from a2a_adapters import (
    AgentRequest,
    Data,
    File,
    InputRequired,
    Output,
    RemoteAgent,
    TaskMetadata,
    Text,
    build_app,
)
from a2a_adapters.testing import running

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

USAGE = {"input_tokens": 5, "output_tokens": 6, "total_tokens": 11}


class Desk:
    """A remote agent that records its requests."""

    def __init__(self) -> None:
        self.received: list[AgentRequest] = []

    async def answer(self, request: AgentRequest):
        """Answer the request."""
        self.received.append(request)
        text = request.text
        if "fail" in text:
            raise RuntimeError("hunter2")
        if "book" in text:
            city = yield InputRequired("Which city?")
            yield f"Booked {city.text}."
        elif "data" in text:
            yield Output((Data({"title": "Moby", "pages": 3}),))
        elif "file" in text:
            yield "here"
            yield Output((File(content=b"x", filename="map.png", media_type="image/png"),))
        else:
            yield TaskMetadata({"usage": USAGE})
            for word in f"heard {text.splitlines()[-1]}".split(" "):
                yield f"{word} "

    @property
    def texts(self) -> list[str]:
        """The prompts of all calls."""
        return [request.text for request in self.received]


@asynccontextmanager
async def served(target: object) -> AsyncGenerator[str]:
    """Serve a target and yield its address."""
    async with running(build_app(target, name="Travel desk", description="Books trips.")) as url:
        yield url


@asynccontextmanager
async def desk() -> AsyncGenerator[tuple[Desk, RemoteAgent]]:
    """Yield a served agent, and the client for it."""
    there = Desk()
    async with served(there.answer) as url, RemoteAgent(url) as agent:
        yield there, agent


def texts(request: AgentRequest) -> list[str]:
    """Return the text parts of the requests."""
    return [part.text for part in request.parts if isinstance(part, Text)]
