"""Calls go over connections that are open already."""

from __future__ import annotations

import asyncio

from a2a_adapters import RemoteAgent, build_app
from a2a_adapters.testing import running
from tests.support.servers.sdk import Scripted, sdk_app, text


def counting(app, ports):
    """Return the app, which notes from which ports it is posted to."""

    async def counted(scope, receive, send):
        if scope["type"] == "http" and scope["method"] == "POST":
            ports.append(scope["client"][1])
        await app(scope, receive, send)

    return counted


async def test_calls_one_after_the_other_share_a_connection():
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
