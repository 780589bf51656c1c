"""A truncated stream never looks complete, and large responses are sent in slices."""

from __future__ import annotations

import asyncio

import grpc.aio
import httpx
import pytest
from a2a.compat.v0_3 import a2a_v0_3_pb2 as old
from a2a.compat.v0_3.a2a_v0_3_pb2_grpc import A2AServiceStub as OldStub
from a2a.types import Message, Part, Role, SendMessageRequest
from a2a.types.a2a_pb2_grpc import A2AServiceStub
from hypothesis import given
from hypothesis import strategies as st

from a2a_adapters import Limits, RemoteAgent, RemoteOptions, ServerOptions, build_app
from a2a_adapters.bindings.http import SLICE_BYTES, slices
from a2a_adapters.testing import connect, running, stream, user_message
from tests.support.requests import V1, grpc_port, old_say, proto_say, rpc, say, sse

CHUNK = "x" * 100_000
CHUNKS = 150
"""More chunks than fit into the buffers of a connection."""

SIZES = st.integers(0, 200) | st.integers(SLICE_BYTES - 2, 2 * SLICE_BYTES + 2)


class Talker:
    """An agent that sends much text without waiting for readers."""

    def __init__(self):
        self.is_done = asyncio.Event()

    async def say(self, text: str):
        for _ in range(CHUNKS):
            yield CHUNK
        self.is_done.set()


@pytest.fixture
async def served():
    talker = Talker()
    limits = Limits(subscriber_events=32, subscriber_seconds=0.1)
    app = build_app(talker.say, options=ServerOptions(grpc_port=0, limits=limits))
    channel_options = [("grpc.max_receive_message_length", -1)]
    async with (
        running(app) as url,
        httpx.AsyncClient(base_url=url, timeout=60) as http,
        grpc.aio.insecure_channel(
            f"127.0.0.1:{grpc_port(app)}", options=channel_options
        ) as channel,
    ):
        yield http, channel, talker


async def last_event(http, talker, path, body, headers):
    """Start to read only after the agent has sent everything."""
    async with http.stream("POST", path, json=body, headers=headers) as response:
        await talker.is_done.wait()
        await response.aread()
    return sse(response.text)[-1]


@pytest.mark.parametrize(
    ("path", "body", "headers"),
    [
        ("/", rpc("SendStreamingMessage", say("go")), V1),
        ("/message:stream", say("go"), V1),
        ("/", rpc("message/stream", old_say("go")), {}),
        ("/v1/message:stream", proto_say("go"), {}),
    ],
)
async def test_a_slow_reader_gets_an_error(served, path, body, headers):
    http, _, talker = served
    last = await last_event(http, talker, path, body, headers)
    assert "read too slowly" in last["error"]["message"]


async def read_all(call):
    while await call.read() is not grpc.aio.EOF:
        pass


async def read_slowly(call, talker):
    await call.read()
    await talker.is_done.wait()
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await read_all(call)
    assert raised.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
    assert "read too slowly" in raised.value.details()


async def test_a_slow_reader_gets_an_error_over_grpc(served):
    _, channel, talker = served
    message = Message(message_id="m", role=Role.ROLE_USER, parts=[Part(text="go")])
    request = SendMessageRequest(message=message)
    metadata = (("a2a-version", "1.0"),)
    call = A2AServiceStub(channel).SendStreamingMessage(request, metadata=metadata)
    await read_slowly(call, talker)


async def test_a_slow_reader_gets_an_error_over_grpc_of_0_3(served):
    _, channel, talker = served
    content = [old.Part(text="go")]
    message = old.Message(message_id="m", role=old.Role.ROLE_USER, content=content)
    call = OldStub(channel).SendStreamingMessage(old.SendMessageRequest(request=message))
    await read_slowly(call, talker)


async def test_a_slow_reader_of_ours_gets_the_whole_answer(served):
    http, _, talker = served
    options = RemoteOptions(answer_bytes=1_000_000_000)
    async with RemoteAgent(str(http.base_url), options=options) as agent:
        reply = None
        async for event in agent.stream("go"):
            await talker.is_done.wait()
            reply = event
    assert len(reply.text) == CHUNKS * len(CHUNK)


async def test_a_fast_reader_gets_everything():
    async def fast(text: str):
        for number in range(6000):
            yield f"{number:9} "

    options = ServerOptions(limits=Limits(subscriber_events=500))
    async with running(build_app(fast, options=options)) as url, connect(url) as client:
        events = await stream(client, user_message("go"))
    chunks = [
        event.artifact_update.artifact.parts[0].text
        for event in events
        if event.HasField("artifact_update")
    ]
    assert "".join(chunks) == "".join(f"{number:9} " for number in range(6000))


@given(st.lists(SIZES, max_size=12))
def test_slices_are_the_pieces_in_order_and_never_too_large(sizes):
    pieces = [bytes([number % 256]) * size for number, size in enumerate(sizes)]
    found = list(slices(pieces))
    assert b"".join(found) == b"".join(pieces)
    assert all(len(piece) <= SLICE_BYTES for piece in found)


def test_small_pieces_are_joined():
    assert [len(piece) for piece in slices([b"x" * 100] * 1000)] == [65500, 34500]
