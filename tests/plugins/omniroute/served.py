"""An agent served in the dialect, and requests of its clients."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager

import httpx

from a2a_adapters import (
    AuthRequired,
    Data,
    File,
    InputRequired,
    InvalidInputError,
    Output,
    Rejected,
    TaskMetadata,
    build_app,
)
from a2a_adapters.testing import running

STATES = ["submitted", "working", "completed"]


async def writer(request):  # noqa: C901 - a behaviour each
    """Write what is asked for."""
    text = request.text
    match text:
        case "FAIL":
            raise RuntimeError("secret")
        case "REJECT":
            yield Rejected("not my job")
        case "ASK":
            yield InputRequired("Which one?")
        case "LOGIN":
            yield AuthRequired("Who are you?")
        case "REFUSE":
            raise InvalidInputError("send something else")
        case "HANG":
            yield "waiting"
            await asyncio.Event().wait()
        case "PARTS":
            yield "text"
            yield Output([Data({"a": 1})])
            yield Output([File(url="https://x.example/f.png", media_type="image/png")])
            yield Output([File(content=b"abc", filename="a.bin")])
        case "NOTHING":
            return
        case "TELL":
            yield "told"
            yield TaskMetadata({"usage": {"total_tokens": 3}, "model": "m-1", "private": 1})
        case "COST":
            yield "told"
            yield TaskMetadata({"cost_envelope": {"actual": 1, "currency": "USD"}})
        case _:
            for word in f"written: {text}".split(" "):
                yield f"{word} "


def reviewer(text: str) -> str:
    """Review what is sent."""
    return f"reviewed: {text}"


@asynccontextmanager
async def serving(target=writer, dialect="omniroute", **options):
    """Yield a plain HTTP client of a server of the dialect."""
    app = build_app(target, dialects=[dialect], **options)
    async with running(app) as url, httpx.AsyncClient(base_url=url, timeout=60) as http:
        yield http


def body(method, call_id="1", **params):
    return {"jsonrpc": "2.0", "id": call_id, "method": method, "params": params}


def asking(text, method="message/send", **params):
    return body(method, messages=[{"role": "user", "content": text}], **params)


async def result(http, call):
    response = await http.post("/a2a", json=call)
    assert response.status_code == 200, response.text
    return response.json()["result"]


async def events(http, call):
    """Return the parameters of the events of a stream, and its comments."""
    async with http.stream("POST", "/a2a", json=call) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        lines = [line async for line in response.aiter_lines()]
    found = [json.loads(line[6:]) for line in lines if line.startswith("data: ")]
    assert {(e["jsonrpc"], e["method"], "id" in e) for e in found} == {
        ("2.0", "message/stream", False)
    }
    return [e["params"] for e in found], [line for line in lines if line.startswith(":")]


@asynccontextmanager
async def hanging(http):
    """Yield a task whose agent hangs after its first words, and a reader of its other events."""
    call = asking("HANG", "message/stream")
    async with http.stream("POST", "/a2a", json=call) as response:
        lines = response.aiter_lines()
        named = json.loads((await anext(lines)).removeprefix("data: "))["params"]
        assert named["chunk"] == {"type": "text", "content": ""}
        assert await anext(lines) == ""
        first = json.loads((await anext(lines)).removeprefix("data: "))["params"]
        assert first["chunk"] == {"type": "text", "content": "waiting"}

        async def rest():
            return [json.loads(line[6:]) async for line in lines if line.startswith("data: ")]

        yield first["task"]["id"], rest
