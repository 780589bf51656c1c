"""Attacks on surfaces beside the server's own: stored state, receivers, folders and endpoints.

`SURFACE_TRIES` sets the number of tries of each kind; each test prints its number.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import threading
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, TypedDict

import httpx
import pytest
from a2a_adapters_endpoints import ChatAgent, WebhookAgent
from a2a_adapters_files import FileStore
from langgraph.graph import END, START, StateGraph
from starlette.applications import Starlette
from starlette.responses import JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from a2a_adapters import (
    Data,
    OutboundPolicy,
    PushOptions,
    RemoteAgent,
    RemoteTaskError,
    ServerOptions,
    build_app,
)
from a2a_adapters.testing import answer_of, running, send, user_message
from tests.plugins.acp.support import scripted, served
from tests.support.agents.state import hostile_values
from tests.support.requests import V1, rpc, say

TRIES = int(os.environ.get("SURFACE_TRIES", "3"))
SECRET = "s3cret-key-of-the-endpoint"
pytestmark = [pytest.mark.thorough, pytest.mark.timeout(600)]


def tried(what, count):
    print(f"{what}: {count} tries")  # noqa: T201 - for the table of docs/security.md


class State(TypedDict):
    """The caller's data, which the graph keeps."""

    data: Any
    kept: Any


@pytest.mark.parametrize("storage", ["memory:", "sqlite"])
async def test_stored_state_names_no_class(tmp_path, storage):
    mark = tmp_path / "executed"
    seen = []

    def look(state: State) -> dict:
        seen.append((state.get("kept"), state["data"]))
        return {"kept": state["data"]}

    builder = StateGraph(State)
    builder.add_node("look", look)
    builder.add_edge(START, "look")
    builder.add_edge("look", END)
    url = f"sqlite:///{tmp_path}/agents.db" if storage == "sqlite" else storage
    options = ServerOptions(storage=url)
    for _ in range(2):  # the second server reads what the first one stored
        app = build_app(builder.compile(), options=options)
        async with running(app) as address, RemoteAgent(address) as agent:
            for number, value in enumerate(hostile_values(mark)):
                await agent.send(Data({"data": value}), context_id=f"c{number}")
                kept, data = seen[-1]
                assert data == value
                assert kept in (None, value)
    assert not mark.exists()
    assert storage == "memory:" or seen[-1][0] is not None
    tried("stored state", len(seen))


@asynccontextmanager
async def released_at_end(event):
    try:
        yield
    finally:
        event.set()


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_push_to_hostile_receivers(status):
    """A receiver redirects the server to an internal address, hangs, is slow, or never ends."""
    inside, first = [], []
    released = asyncio.Event()

    async def internal(request):
        inside.append(request)
        return Response(status_code=200)

    async with running(
        Starlette(routes=[Route("/{p:path}", internal, methods=["GET", "POST"])])
    ) as secret:

        async def receive(request):
            first.append(request.headers.get("authorization"))
            targets = [f"{secret}/internal", "http://169.254.169.254/latest", "file:///etc/passwd"]
            target = targets[len(first) % len(targets)]
            return RedirectResponse(target, status)

        async def endless(_):
            async def drops():
                while True:
                    yield b"x" * 1000
                    await asyncio.sleep(0.01)

            return StreamingResponse(drops())

        async def hanging(_):
            await released.wait()
            return Response()

        async def slow(_):
            await asyncio.sleep(0.4)  # just within the time of an attempt
            return Response(status_code=503, headers={"Retry-After": "3600"})

        routes = [
            Route("/hook", receive, methods=["POST"]),
            Route("/endless", endless, methods=["POST"]),
            Route("/hanging", hanging, methods=["POST"]),
            Route("/slow", slow, methods=["POST"]),
        ]
        paths = [route.path for route in routes]
        push = PushOptions(
            outbound=OutboundPolicy(allow_private=True),
            attempts=2,
            pause_seconds=0.01,
            attempt_seconds=0.5,
        )
        app = build_app(lambda text: text, options=ServerOptions(push=push))
        async with (
            running(Starlette(routes=routes)) as hooks,
            released_at_end(released),
            running(app) as url,
            httpx.AsyncClient(base_url=url, headers=V1, timeout=60) as http,
        ):
            for number in range(4 * TRIES):
                config = {
                    "url": f"{hooks}{paths[number % 4]}",
                    "token": "t",
                    "authentication": {"scheme": "Bearer", "credentials": SECRET},
                }
                asked = say("x", messageId=f"m{number}")
                asked["configuration"] = {"taskPushNotificationConfig": config}
                answer = await http.post("/", json=rpc("SendMessage", asked))
                assert answer.json()["result"]["task"]["status"]["state"] == "TASK_STATE_COMPLETED"
        # The server has stopped, and so given its deliveries up or finished them.
    assert first
    assert not inside
    tried(f"receivers that redirect with {status}, hang, are slow or do not end", 4 * TRIES)


@pytest.mark.skipif(os.name == "nt", reason="needs links")
async def test_folders_that_become_links(tmp_path):
    """While a coding agent writes through the server, its folder is replaced by a link."""
    folder, outside = tmp_path / "work", tmp_path / "outside"
    outside.mkdir()
    agent = scripted(folder)
    place, stopped = folder / "sub", threading.Event()

    def swap():
        aside = folder / "aside"
        while not stopped.is_set():
            with suppress(OSError):  # the server has made the folder again meanwhile
                place.mkdir(exist_ok=True)
                shutil.rmtree(aside, ignore_errors=True)
                place.rename(aside)
                place.symlink_to(outside)
                place.unlink()
                aside.rename(place)

    swapping = threading.Thread(target=swap, daemon=True)
    async with served(agent) as client:
        swapping.start()
        try:
            for number in range(10 * TRIES):
                path = place / f"a{number}.txt"
                answer_of(await send(client, user_message(f"fs write {path} text")))
        finally:
            stopped.set()
            swapping.join()
    assert list(outside.iterdir()) == []
    tried("files in folders that become links", 10 * TRIES)


@pytest.mark.parametrize("kind", ["webhook", "openai"])
async def test_endpoints_keep_their_keys(kind):
    """An endpoint redirects to another origin, repeats the key, or fails with it."""
    elsewhere, count = [], 0

    async def other(request):
        elsewhere.append(request.headers.get("authorization"))
        return JSONResponse({"text": "got it"})

    async with running(
        Starlette(routes=[Route("/{p:path}", other, methods=["GET", "POST"])])
    ) as away:
        answers = [
            *(lambda s=s: RedirectResponse(f"{away}/x", s) for s in (301, 302, 303, 307, 308)),
            lambda: JSONResponse({"error": f"bad key {SECRET}"}, 401),
            lambda: JSONResponse({"error": f"bad key {SECRET}"}, 500),
            lambda: JSONResponse({"error": f"bad key {SECRET}"}),
            lambda: Response(f"data: bad key {SECRET}\n\n", 429, media_type="text/event-stream"),
        ]

        async def respond(request):
            assert request.headers["authorization"] == f"Bearer {SECRET}"
            return answers[count % len(answers)]()

        async with running(
            Starlette(routes=[Route("/{p:path}", respond, methods=["POST"])])
        ) as url:
            made = (
                WebhookAgent(url, token=SECRET)
                if kind == "webhook"
                else ChatAgent(url, "model", token=SECRET)
            )
            async with running(build_app(made)) as served_at, RemoteAgent(served_at) as agent:
                for _ in range(TRIES * len(answers)):
                    try:
                        reply = await agent.send("http://169.254.169.254 file:///etc/passwd")
                    except RemoteTaskError as failed:
                        reply = failed.reply
                    assert SECRET not in str(reply)
                    count += 1
    assert not elsewhere
    tried(f"endpoints ({kind})", count)


_ASKED = json.dumps({"size": 5, "filename": "a.txt"}).encode()
_REFUSED = {
    "origin": ["Origin: http://evil.example"],
    "json": [],
    "type": ["Content-Type: text/plain", "Origin: http://localhost"],
    "host": ["Host: stranger.example"],
}


async def head_of(reader):
    """Return the status of a response, and whether the connection is closed after it."""
    found = (await reader.readuntil(b"\r\n\r\n")).lower()
    length = next(line for line in found.split(b"\r\n") if b"content-length" in line)
    await reader.readexactly(int(length.partition(b":")[2]))
    return int(found.split()[1]), b"connection: close" in found


@pytest.mark.parametrize("refused", _REFUSED)
async def test_connections_after_refusals(tmp_path, refused):
    """A refused request, whose body may be unread, must not spoil the next of its connection."""
    count = 0
    options = ServerOptions(files=FileStore(tmp_path, secret=SECRET * 2))

    async def attempt(address, form, size):
        post = ["POST /files HTTP/1.1", f"Host: {address.netloc.decode()}"]
        lines = [line for line in post if refused != "host" or "Host" not in line]
        lines += _REFUSED[refused]
        good = "\r\n".join([*post, f"Content-Length: {len(_ASKED)}", "", ""]).encode() + _ASKED
        body = b"x" * size
        if form == "chunked":
            lines.append("Transfer-Encoding: chunked")
            body = b"%x\r\n%b\r\n0\r\n\r\n" % (size, body)
        else:
            lines.append(f"Content-Length: {size}")
        if form == "expect":
            lines.append("Expect: 100-continue")
        begun = "\r\n".join([*lines, "", ""]).encode()
        reader, writer = await asyncio.open_connection(address.host, address.port)
        try:
            writer.write(begun if form == "expect" else begun + body)
            if form == "pipelined":
                writer.write(good)
            async with asyncio.timeout(60):
                if form == "expect" and refused in ("json", "type"):  # the body is read first
                    assert b" 100 " in await reader.readuntil(b"\r\n\r\n")
                    writer.write(body)
                status, is_closed = await head_of(reader)
                assert 400 <= status < 500
                assert is_closed == (form == "expect")
                if not is_closed:
                    writer.write(b"" if form == "pipelined" else good)
                    assert (await head_of(reader))[0] == 201
        finally:
            writer.close()

    async with running(build_app(lambda text: text, options=options)) as url:
        for form in ("plain", "pipelined", "chunked", "expect"):
            for size in (10, 60_000, 300_000):
                for _ in range(TRIES):
                    await attempt(httpx.URL(url), form, size)
                    count += 1
    tried(f"connections after refusals ({refused})", count)


def test_the_promises_of_the_threat_model_have_their_tests():
    root = Path(__file__).parents[2]
    page = (root / "docs" / "threat-model.md").read_text()
    named = [each for each in page.split("`") if "::test_" in each]
    assert len(named) > 40
    for each in named:
        path, _, name = each.partition("::")
        assert f"def {name}(" in (root / path).read_text(), each
