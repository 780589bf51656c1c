"""Connections are reused by calls, and closed after abandoned calls and by unused agents."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys

import pytest

from a2a_adapters import (
    RemoteAgent,
    RemoteOptions,
    RemoteTimeoutError,
    build_app,
)
from a2a_adapters.calling import exchange
from a2a_adapters.testing import running
from tests.support.servers.sdk import Scripted, sdk_app, text


def counting(app, ports):
    """Return the app, which notes from which ports it is posted to."""

    async def counted(scope, receive, send):
        if scope["type"] == "http" and scope["method"] == "POST":
            ports.append(scope["client"][1])
        await app(scope, receive, send)

    return counted


async def test_calls_one_after_the_other_share_a_connection(monkeypatch):
    # A server that is slow to end a stream loses its connection.
    monkeypatch.setattr(exchange, "_END_SECONDS", 60)  # private: no option

    async def script(context, task):
        await task.add_artifact(text("pong"))
        await task.complete()

    for app in (build_app(lambda text: text), sdk_app(Scripted(script))):
        ports = []
        async with running(counting(app, ports)) as url, RemoteAgent(url) as agent:
            for _ in range(5):
                await agent.send("ping")
        assert len(ports) == 5
        assert len(set(ports)) == 1


async def test_a_stream_that_stays_open_after_the_answer_delays_no_caller():
    app, leave = build_app(lambda text: text), asyncio.Event()

    async def open_ended(scope, receive, send):
        async def slow(message):
            if message["type"] == "http.response.body" and not message.get("more_body"):
                await leave.wait()
            await send(message)

        is_call = scope["type"] == "http" and scope["method"] == "POST"
        await app(scope, receive, slow if is_call else send)

    async with running(open_ended) as url, RemoteAgent(url) as agent:
        async with asyncio.timeout(60):
            assert (await agent.send("ping")).text == "ping"
        leave.set()


CARD = {
    "name": "agent",
    "supportedInterfaces": [{"url": "http://127.0.0.1/", "protocolBinding": "JSONRPC"}],
}
BLOCKING = """
import asyncio, gc, sys
from a2a_adapters import RemoteAgent

def main():
    agent = RemoteAgent(sys.argv[1])
    agent.card = agent  # a cycle
    return agent.send_sync("hello").text

async def amain():
    return (await RemoteAgent(sys.argv[1]).send("hello")).text

print(main(), asyncio.run(amain()))
gc.collect()
"""


async def test_an_agent_that_is_dropped_closes_its_connections():
    body = json.dumps(CARD)
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    is_closed = asyncio.Event()

    async def answer(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(f"{head}\r\n\r\n{body}".encode())
        assert await reader.read() == b""
        is_closed.set()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        host, port = server.sockets[0].getsockname()
        agent = RemoteAgent(f"http://{host}:{port}")
        assert (await agent.card()).name == "agent"
        assert not is_closed.is_set()
        del agent
        async with asyncio.timeout(60):
            await is_closed.wait()


@pytest.mark.thorough
async def test_a_script_without_cleanup_ends_without_a_warning():
    command = [sys.executable, "-W", "error", "-c", BLOCKING]
    async with running(build_app(lambda text: text)) as url:
        done = await asyncio.to_thread(
            subprocess.run, [*command, url], capture_output=True, text=True, check=False
        )
    assert done.stdout == "hello hello\n"
    assert done.stderr == ""


async def endless(text: str):
    """Send text until the caller leaves."""
    try:
        while True:
            yield "more "
            await asyncio.sleep(0.01)
    finally:
        ended.set()


ended = asyncio.Event()


@pytest.fixture
async def endless_agent():
    ended.clear()
    async with running(build_app(endless)) as url, RemoteAgent(url) as agent:
        yield agent


async def test_leaving_a_stream_cancels_its_task(endless_agent):
    stream = endless_agent.stream("go")
    await anext(stream)
    await stream.aclose()
    async with asyncio.timeout(60):
        await ended.wait()


async def test_cancelling_a_call_cancels_its_task(endless_agent):
    has_begun = asyncio.Event()

    async def listen():
        async for _ in endless_agent.stream("go"):
            has_begun.set()

    call = asyncio.create_task(listen())
    await has_begun.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    async with asyncio.timeout(60):
        await ended.wait()


async def test_a_timeout_cancels_its_task():
    ended.clear()
    options = RemoteOptions(timeout=2)
    async with (
        running(build_app(endless)) as url,
        RemoteAgent(url) as patient,
        RemoteAgent(await patient.card(), options=options) as agent,
    ):
        with pytest.raises(RemoteTimeoutError) as caught:
            await agent.send("go")
        assert caught.value.task_id
        async with asyncio.timeout(60):
            await ended.wait()


async def test_leaving_a_blocking_stream_cancels_its_task(endless_agent):
    def take_two():
        stream = endless_agent.stream_sync("go")
        taken = [next(stream).text, next(stream).text]
        stream.close()
        return taken

    assert await asyncio.to_thread(take_two) == ["more ", "more "]
    async with asyncio.timeout(60):
        await ended.wait()
    await endless_agent.aclose()
