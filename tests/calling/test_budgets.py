"""Limits on an agent's answer, which apply before it is parsed."""

from __future__ import annotations

import asyncio
import statistics
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

from a2a_adapters import (
    Data,
    Output,
    RemoteAgent,
    RemoteAnswerError,
    RemoteOptions,
    ServerOptions,
    Text,
    build_app,
)
from a2a_adapters.calling.http import ValueBudget
from a2a_adapters.plugin import Adapter, AgentDescription
from a2a_adapters.testing import running
from tests.support.grpc_agents import grpc_agent
from tests.support.servers.cards import agent_card, card_route, only


def take(chunks, limit, *, is_stream):
    budget = ValueBudget(limit, is_stream=is_stream)
    for chunk in chunks:
        budget.take(chunk)


def cut(text, size):
    return [text[at : at + size] for at in range(0, len(text), size)]


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
def test_events_are_counted_alone(size, end):
    text = b'data: {"a":[1,2,3],"t":",[,[,[\\",\\\\"}' + end + end
    chunks = cut(text * 20, size)
    take(chunks, 7, is_stream=True)
    for lines in (text, b': "' + end + text, b"data:[[[[" + end + b"data:[" + end + end):
        with pytest.raises(RemoteAnswerError):
            take(cut(lines, size), 4, is_stream=True)


def test_events_cut_before_their_empty_lines_are_counted_alone():
    chunks = [b"data: [1,2,3]\n", b"\ndata: 1\n\n"] * 20
    take(chunks, 30, is_stream=True)
    with pytest.raises(RemoteAnswerError):
        take([b"data:[" + 11 * b",0" + b"\n", b"data:,0,0]\n\n"], 13, is_stream=True)


@given(
    st.lists(st.integers(1, 40), min_size=1, max_size=5),
    st.lists(st.integers(0, 400), max_size=5),
    st.integers(1, 60),
)
def test_events_are_counted_alone_however_they_are_cut(sizes, cuts, limit):
    text = b"".join(b"data:[" + b",".join([b"0"] * size) + b"]\n\n" for size in sizes)
    ends = sorted({min(cut, len(text)) for cut in cuts} | {len(text)})
    chunks = [text[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]
    if max(sizes) > limit:
        with pytest.raises(RemoteAnswerError):
            take(chunks, limit, is_stream=True)
    else:
        take(chunks, limit, is_stream=True)


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
async def test_an_answer_is_counted_as_a_whole(size):
    text = b'{"a":[1,2,3],\n\n"t":",[,[,[\\",\\\\"}'
    take(cut(text, size), 5, is_stream=False)
    with pytest.raises(RemoteAnswerError):
        take(cut(text, size), 4, is_stream=False)


@pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
@pytest.mark.parametrize("streaming", [True, False])
async def test_an_agent_whose_answer_holds_too_many_values(binding, streaming):
    async def flood(request):
        nested = '{"result": {"metadata": {"a": [' + "[]," * 2000 + "[]]}}}"
        if streaming:
            return Response(f"data: {nested}\n\n", media_type="text/event-stream")
        return Response(nested, media_type="application/json")

    def card(url):
        return agent_card(url, streaming=streaming, bindings=[binding])

    routes = [card_route(card), Route("/{path:path}", flood, methods=["POST"])]
    options = RemoteOptions(answer_values=1000)
    async with running(Starlette(routes=routes)) as url, RemoteAgent(url, options=options) as agent:
        with pytest.raises(RemoteAnswerError, match="over 1,000 values"):
            await agent.send("ping")


class Answering(Adapter):
    """Answers with a number of values, or with a text of a number of characters."""

    def describe(self):
        return AgentDescription(name="answering", description="Answers much.")

    async def stream(self, request):
        kind, count = request.text.split()
        if kind == "values":
            yield Output([Data({"a": [0] * int(count)})])
        else:
            yield Output([Text("x" * int(count))])


class Watched:
    """CPU time of a loop's thread, without that of a server in it."""

    def __init__(self):
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def run(self, work):
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(60)

    def end(self):
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(60)
        self._loop.close()

    async def took(self, call):
        began = time.thread_time()
        await call
        return time.thread_time() - began


CALLS = [(binding, "1.0") for binding in ("JSONRPC", "HTTP+JSON", "GRPC")]
CALLS += [(binding, "0.3") for binding in ("JSONRPC", "HTTP+JSON")]


@pytest.mark.parametrize(("binding", "version"), CALLS)
async def test_a_large_answer_does_not_block_the_loop(binding, version):
    """The calling loop is not the server's, and its CPU time is counted."""
    app = build_app(Answering(), options=ServerOptions(grpc_port=0))
    watched = Watched()
    async with running(app) as url, RemoteAgent(url) as first:
        agent = RemoteAgent(only(await first.card(), binding, version))

        async def cost(text):
            return await asyncio.to_thread(watched.run, watched.took(agent.send(text)))

        await cost("values 1")
        small = statistics.median([await cost("values 1") for _ in range(5)])
        large = min([await cost("values 50000") for _ in range(2)])
        await asyncio.to_thread(watched.run, agent.aclose())
    watched.end()
    assert large < 40 * small, (large, small)


@pytest.mark.parametrize("version", ["1.0", "0.3"])
async def test_values_are_counted_over_grpc(version):
    options = RemoteOptions(answer_values=1000, retries=0)
    async with grpc_agent(Answering(), version=version, remote=options) as agent:
        assert (await agent.send("values 900")).data
        with pytest.raises(RemoteAnswerError, match="over 1,000 values"):
            await agent.send("values 20000")
        assert (await agent.send("text 20000")).text == "x" * 20000
