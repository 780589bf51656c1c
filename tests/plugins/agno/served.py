"""An agent served in Agno's dialect, and requests of its clients."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager

import httpx

from a2a_adapters import (
    Data,
    File,
    InputRequired,
    Output,
    Reply,
    Text,
    ToolCall,
    ToolResult,
    build_app,
)
from a2a_adapters.testing import running
from tests.plugins.agno.recordings import AGENT

ROOT = {"send": "/a2a/message/send", "stream": "/a2a/message/stream"}


CALLS = {method: f"{AGENT}/v1/message:{method}" for method in ("send", "stream")}


async def worker(request):
    """Follow the instructions."""
    text = request.text
    match text:
        case "BOOM":
            raise RuntimeError("secret")
        case "ASK":
            answer = yield InputRequired("Which?")
            yield f"took {answer.text}"
        case "HANG":
            yield "waiting"
            await asyncio.Event().wait()
        case "TOOL":
            yield ToolCall("c", "add", {"a": 2})
            yield ToolResult("c", "add", 5)
            yield "added"
        case "PARTS":
            yield "text"
            yield Output([Data({"a": 1}), File(url="https://x.example/i.png")])
        case "DATA":
            yield Output([Data({"a": 1})])
        case "REPLY":
            yield Reply([Text("a reply")])
        case "SEEN":
            seen = [type(part).__name__ for part in request.parts]
            yield f"{seen} {request.metadata.get('userId')}"
        case _:
            for word in f"worked on {text}".split(" "):
                yield f"{word} "


def other(text: str) -> str:
    """Echo with another prefix."""
    return f"other: {text}"


@asynccontextmanager
async def serving(target=worker, **options):
    app = build_app(target, dialects=["agno"], **{"name": "My Agent", **options})
    async with running(app) as url, httpx.AsyncClient(base_url=url, timeout=60) as http:
        yield http


def call(text, method="message/send", **message):
    parts = [{"kind": "text", "text": text}]
    sent = {"messageId": "m1", "role": "user", "parts": parts, **message}
    return {"jsonrpc": "2.0", "id": "r", "method": method, "params": {"message": sent}}


async def task_of(http, body, **more):
    response = await http.post(CALLS["send"], json=body, **more)
    assert response.status_code == 200, response.text
    return response.json()["result"]


def events(response):
    """Return the names and data of the events of a stream."""
    frames = [frame.split("\n") for frame in response.text.split("\n\n") if frame]
    return [(e.removeprefix("event: "), json.loads(d.removeprefix("data: "))) for e, d in frames]


async def streamed(http, text, **message):
    response = await http.post(CALLS["stream"], json=call(text, "message/stream", **message))
    assert response.headers["content-type"].startswith("text/event-stream"), response.text
    return [(name, data["result"]) for name, data in events(response)]
