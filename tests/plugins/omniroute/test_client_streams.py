"""Reading streams of a gateway."""

from __future__ import annotations

import asyncio

import a2a_adapters_omniroute as omni
import pytest
from a2a_adapters_omniroute import OmniRouteClient
from starlette.applications import Starlette
from starlette.routing import Route

from a2a_adapters import (
    RemoteAnswerError,
    RemoteConnectionError,
    RemoteTimeoutError,
    Text,
    TextDelta,
)
from a2a_adapters.testing import running
from tests.plugins.omniroute.gateways import (
    COSTS,
    KEY,
    Described,
    answering,
    chunk,
    event,
    sse,
)
from tests.plugins.omniroute.test_client import call


@pytest.mark.parametrize(
    "stream",
    [
        sse(chunk("half")),
        sse(": heartbeat\n\n"),
        sse(event("completed")),
        sse(event("completed", artifacts=[{"type": "text", "content": ""}])),
        "data: {\n\n",
        "data: 3\n\n",
        sse({"jsonrpc": "2.0", "method": "message/stream", "params": {}}),
        sse(chunk("x"))[:-2],
    ],
)
@pytest.mark.parametrize("kind", ["stream", "stream_sync"])
async def test_a_stream_without_an_answer_is_an_error(stream, kind):
    app = answering(stream, media_type="text/event-stream")
    async with running(app) as url, OmniRouteClient(url) as client:
        with pytest.raises(RemoteAnswerError):
            await call(client, kind)
        await asyncio.to_thread(client.close)


async def test_a_final_event_may_hold_the_artifacts_alone():
    parts = [{"type": "text", "content": "a"}, {"type": "text", "content": "b"}]
    stream = sse(event("completed", artifacts=parts, metadata=COSTS))
    app = answering(stream, media_type="text/event-stream")
    async with running(app) as url, OmniRouteClient(url) as client:
        reply, streamed = await call(client, "stream")
    assert reply.text == streamed == "a\nb"
    assert [artifact.parts for artifact in reply.artifacts] == [[Text("a")], [Text("b")]]


async def test_artifacts_do_not_repeat_streamed_text():
    parts = [{"type": "text", "content": "ab"}]
    stream = sse(chunk("a"), chunk("b"), event("completed", artifacts=parts))
    app = answering(stream, media_type="text/event-stream")
    async with running(app) as url, OmniRouteClient(url) as client:
        reply, streamed = await call(client, "stream")
    assert reply.text == streamed == "ab"


@pytest.mark.parametrize("code", [-32005, -32603])
async def test_a_stream_that_fails_halfway_raises(code):
    refused = {"jsonrpc": "2.0", "error": {"code": code, "message": "API [429]: slow down"}}
    failed = event("failed", metadata={"error": "API [429]: slow down"})
    for last in (refused, failed):
        app = answering(sse(chunk("half"), last), media_type="text/event-stream")
        async with running(app) as url, OmniRouteClient(url) as client:
            with pytest.raises(omni.OmniRouteProviderError, match="try again") as caught:
                await call(client, "stream")
        assert (caught.value.status, caught.value.task_id) == (429, "t1")


async def test_leaving_a_stream_cancels_its_task():
    gateway = Described()
    async with running(gateway.app()) as url, OmniRouteClient(url, api_key=KEY) as client:
        events = client.stream("smart-routing", "a b", {"role": "endless"})
        assert await anext(events) == TextDelta("a ")
        await events.aclose()
        await asyncio.wait_for(gateway.is_cancelled.wait(), 60)
    assert gateway.calls[-1]["params"] == {"taskId": "t1"}


async def test_a_stream_times_out():
    gateway = Described()
    async with (
        running(gateway.app()) as url,
        OmniRouteClient(url, api_key=KEY, timeout=1) as client,
    ):
        with pytest.raises(RemoteTimeoutError):
            await call(client, "stream", "a", {"role": "endless"})
        await asyncio.wait_for(gateway.is_cancelled.wait(), 60)


async def test_silence_is_an_error():
    async def silent(_request):
        await asyncio.sleep(30)

    app = Starlette(routes=[Route("/a2a", silent, methods=["POST"])])
    async with running(app) as url, OmniRouteClient(url, timeout=0.2) as client:
        with pytest.raises(RemoteTimeoutError):
            await client.send("smart-routing", "hi")
    async with OmniRouteClient("http://127.0.0.1:9") as client:
        with pytest.raises(RemoteConnectionError):
            await client.send("smart-routing", "hi")
