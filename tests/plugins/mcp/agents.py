"""Agents that tests offer to MCP clients."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from pydantic import BaseModel

from a2a_adapters import (
    AgentRequest,
    AuthRequired,
    Data,
    File,
    InputRequired,
    InvalidInputError,
    Output,
    Progress,
    Text,
    ToolCall,
    ToolResult,
)

print("a line on standard output")  # noqa: T201 - as many modules do


class Weather(BaseModel):
    """A weather report."""

    city: str
    degrees: int


FORM = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "nights": {"type": "integer"}},
    "required": ["city"],
}


def shout(text: str) -> str:
    """Shouts the text."""
    return text.upper()


def weather(text: str) -> Weather:
    """Tells the weather."""
    return Weather(city=text, degrees=21)


async def book(request: AgentRequest):
    """Books a room."""
    answer = yield InputRequired("which city?")
    yield f"booked {answer.text} for {request.text}"


async def fill_in(_request: AgentRequest):
    """Asks with a form."""
    answer = yield InputRequired("where to?", [Data({"response_schema": FORM})])
    yield Output(answer.parts)


async def authorise(_request: AgentRequest):
    """Needs an authorisation."""
    page = Data({"url": "https://login.example/grant"})
    answer = yield AuthRequired("may I read your mail?", [page])
    yield f"heard: {answer.text}"


async def work(_request: AgentRequest):
    """Reports its progress."""
    yield Progress("half of it")
    yield ToolCall("1", "search", {"q": "x"})
    yield ToolResult("1", "search", "found")
    yield "done"


def draw(request: AgentRequest):
    """Returns the files."""
    sent = [part for part in request.parts if isinstance(part, File)]
    return [
        Text(f"{len(sent)} files"),
        *sent,
        File(url="https://files.example/a.pdf", media_type="application/pdf", filename="a.pdf"),
    ]


def remember(request: AgentRequest) -> str:
    """Repeats the earlier messages."""
    return " ".join([turn.text for turn in request.history if turn.role == "user"] + [request.text])


async def wait(request: AgentRequest):
    """Waits for ever; writes into FIFOs when it begins and when it is cancelled."""
    folder = Path(os.environ["MCP_TEST_FOLDER"])
    yield "begun"
    try:
        await asyncio.to_thread((folder / "begun").write_text, request.text)
        await asyncio.Event().wait()
    finally:
        (folder / "cancelled").write_text("yes")


def fail(_text: str) -> str:
    """Fails."""
    raise RuntimeError("hunter2")


def refuse(_text: str) -> str:
    """Refuses."""
    raise InvalidInputError("not today")


ALL = {
    each.__name__: each
    for each in (
        shout,
        weather,
        book,
        fill_in,
        authorise,
        work,
        draw,
        remember,
        wait,
        fail,
        refuse,
    )
}
