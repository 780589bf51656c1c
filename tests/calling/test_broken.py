"""Agents that break off, hang, are busy, or lose messages."""

from __future__ import annotations

import asyncio
from uuid import uuid4

import httpx
import pytest

from a2a_adapters import (
    AgentReply,
    InputRequired,
    Limits,
    RemoteAgent,
    RemoteConnectionError,
    RemoteOptions,
    ServerOptions,
    TextDelta,
    build_app,
)
from a2a_adapters.protocol.card import DEDUPLICATION_EXTENSION
from a2a_adapters.testing import running
from tests.support.requests import client_of
from tests.support.servers.broken import BreakingStream
from tests.support.servers.cards import only
from tests.support.servers.flaky import Flaky
from tests.support.servers.front import Recording
from tests.support.servers.wire import Broken

pytestmark = pytest.mark.timeout(5 * 60)

IMPATIENT = RemoteOptions(timeout=0.3, retries=0)


async def collect(agent, text="ping"):
    events = [event async for event in agent.stream(text)]
    said = "".join(event.text for event in events if isinstance(event, TextDelta))
    assert isinstance(events[-1], AgentReply)
    return said, events[-1].text


@pytest.mark.parametrize("torn", [False, True])
@pytest.mark.parametrize("finishes", [False, True])
@pytest.mark.parametrize("after", [1, 2, 3, 4])
async def test_a_broken_stream_is_resumed(after, finishes, torn):
    server = BreakingStream(after, finishes=finishes, torn=torn)
    async with running(server) as url, RemoteAgent(url) as agent:
        assert await collect(agent) == ("pong: ping", "pong: ping")
    assert server.methods[0] == "SendStreamingMessage"
    assert server.methods.count("SendStreamingMessage") == 1, "the message is never sent twice"
    assert set(server.methods[1:]) <= {"SubscribeToTask", "GetTask"}
    assert len(server.methods) > 1


async def test_a_stream_may_break_again_and_again():
    server = BreakingStream(1, breaks=3)
    async with running(server) as url, RemoteAgent(url) as agent:
        assert await collect(agent) == ("pong: ping", "pong: ping")


async def test_a_silent_stream_is_subscribed_to_again():
    has_waited = asyncio.Event()

    async def think(text: str):
        yield "po"
        await has_waited.wait()
        yield "ng"

    class Watching(Recording):
        def refusal(self, request):
            if self.methods.count("SubscribeToTask") == 3:
                has_waited.set()

    options = RemoteOptions(idle_timeout=0.5, retries=1000)
    async with (
        running(Watching(build_app(think))) as url,
        RemoteAgent(url) as patient,
        RemoteAgent(await patient.card(), options=options) as agent,
    ):
        assert (await agent.send("ping")).text == "pong"


@pytest.mark.parametrize("refusal", ["429", "503"])
async def test_a_busy_agent_is_asked_again(refusal):
    server = Flaky(refusal, calls=2, cards=1)
    async with running(server) as url, RemoteAgent(url) as agent:
        assert (await agent.send("ping")).text == "pong: ping"
    assert server.methods.count("SendStreamingMessage") == 3


async def test_an_agent_that_stays_busy_is_given_up():
    server = Flaky("503", calls=9)
    options = RemoteOptions(retries=1)
    async with running(server) as url, RemoteAgent(url, options=options) as agent:
        with pytest.raises(RemoteConnectionError, match="busy"):
            await agent.send("ping")
    assert len(server.methods) == 2


@pytest.mark.parametrize("version", ["1.0", "0.3"])
@pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
async def test_a_served_agent_that_is_busy_is_asked_again(binding, version):
    began, gate = asyncio.Event(), asyncio.Event()

    async def wait(text: str) -> str:
        began.set()
        await gate.wait()
        return text

    app = build_app(wait, options=ServerOptions(limits=Limits(runs=1, queued_runs=0)))
    async with running(app) as url:
        async with RemoteAgent(url) as agent:
            card = only(await agent.card(), binding, version)
        impatient = RemoteAgent(card, options=RemoteOptions(retries=0))
        async with RemoteAgent(card) as agent, impatient, asyncio.TaskGroup() as calls:
            first = calls.create_task(agent.send("first"))
            await began.wait()
            with pytest.raises(RemoteConnectionError, match="busy"):
                await impatient.send("second")
            third = calls.create_task(agent.send("third"))
            gate.set()
        assert (first.result().text, third.result().text) == ("first", "third")


@pytest.mark.parametrize("pause", ["3600", "9" * 5000, "Fri, 31 Dec 9999 23:59:59 GMT"])
async def test_an_agent_that_wants_a_long_pause_is_not_waited_for(pause):
    server = Flaky("429", calls=9, retry_after=pause)
    async with running(server) as url, RemoteAgent(url) as agent:
        with pytest.raises(RemoteConnectionError, match="busy"):
            await agent.send("ping")
    assert len(server.methods) == 1


@pytest.mark.parametrize("retry_after", ["Sun, 06 Nov 1994 08:49:37 GMT", "²", "soon"])
async def test_an_invalid_retry_after_is_ignored(retry_after):
    server = Flaky("429", calls=1, cards=1, retry_after=retry_after)
    async with running(server) as url, RemoteAgent(url) as agent:
        assert (await agent.send("ping")).text == "pong: ping"


@pytest.mark.parametrize("refusal", ["closed", "lost"])
async def test_messages_that_may_have_been_received_are_not_resent(refusal):
    server = Flaky(refusal, calls=1)
    async with running(server) as url, RemoteAgent(url) as agent:
        with pytest.raises(RemoteConnectionError):
            await agent.send("ping")
    assert list(server.times_received.values()) == [1]


@pytest.mark.parametrize("refusal", ["closed", "lost", "502"])
async def test_a_lost_message_is_sent_again_where_that_answers_it_once(refusal, tmp_path):
    said = []

    async def answer(text: str) -> str:
        said.append(text)
        return f"pong: {text}"

    options = ServerOptions(storage=f"sqlite:///{tmp_path}/agents.db")
    server = Flaky(refusal, calls=2, agent=build_app(answer, options=options))
    async with running(server) as url, RemoteAgent(url) as agent:
        assert (await agent.send("ping")).text == "pong: ping"
    assert list(server.times_received.values()) == [3]
    assert said == ["ping"]


@pytest.mark.parametrize("resend", [False, True])
async def test_the_option_resend_decides_about_lost_messages(resend):
    server = Flaky("closed", calls=1)
    options = RemoteOptions(resend=resend)
    async with running(server) as url, RemoteAgent(url, options=options) as agent:
        if resend:
            assert (await agent.send("ping")).text == "pong: ping"
        else:
            with pytest.raises(RemoteConnectionError):
                await agent.send("ping")
    assert list(server.times_received.values()) == [1 + resend]


async def test_a_message_that_is_lost_again_and_again_is_given_up():
    server = Flaky("closed", calls=9)
    options = RemoteOptions(resend=True, retries=1)
    async with running(server) as url, RemoteAgent(url, options=options) as agent:
        with pytest.raises(RemoteConnectionError):
            await agent.send("ping")
    assert list(server.times_received.values()) == [2]


async def test_an_agent_without_a_storage_does_not_say_that_it_knows_messages(tmp_path):
    async def answer(text: str) -> str:
        return text

    stored = ServerOptions(storage=f"sqlite:///{tmp_path}/agents.db")
    for options, knows in ((ServerOptions(), False), (stored, True)):
        async with running(build_app(answer, options=options)) as url, RemoteAgent(url) as agent:
            extensions = (await agent.card()).capabilities.extensions
            assert any("deduplication" in e.uri for e in extensions) is knows


@pytest.mark.parametrize("resend", [None, True, False])
@pytest.mark.parametrize("is_stored", [True, False])
async def test_messages_that_may_be_sent_again_activate_the_extension(resend, is_stored, tmp_path):
    activated = []

    async def answer(text: str) -> str:
        return text

    storage = f"sqlite:///{tmp_path}/agents.db" if is_stored else "memory:"
    app = build_app(answer, options=ServerOptions(storage=storage))

    async def noted(scope, receive, send):
        if scope["type"] == "http" and scope["method"] == "POST":
            named = dict(scope["headers"]).get(b"a2a-extensions", b"").decode()
            activated.append(DEDUPLICATION_EXTENSION in named)
        await app(scope, receive, send)

    options = RemoteOptions(resend=resend)
    async with running(noted) as url, RemoteAgent(url, options=options) as agent:
        await agent.send("ping")
    assert activated == [is_stored and resend is not False]


async def test_an_agent_that_knows_messages_refuses_another_one_under_a_used_id(tmp_path):
    async def answer(text: str) -> str:
        return text

    app = build_app(answer, options=ServerOptions(storage=f"sqlite:///{tmp_path}/agents.db"))
    headers = {"A2A-Version": "1.0", "A2A-Extensions": DEDUPLICATION_EXTENSION}

    async def send(http: httpx.AsyncClient, text: str) -> httpx.Response:
        message = {"messageId": message_id, "role": "ROLE_USER", "parts": [{"text": text}]}
        return await http.post("/message:send", json={"message": message})

    message_id = str(uuid4())
    async with client_of(app, headers=headers) as http:
        tasks = [(await send(http, "one")).json()["task"]["id"] for _ in range(2)]
        refused = await send(http, "two")
    assert tasks[0] == tasks[1]
    assert refused.status_code == 400
    assert "used for another message" in refused.text


class LosingReads(Recording):
    """Loses the first two calls that ask for a task."""

    def refusal(self, request):
        is_read = request.method == "POST" and request.body["method"] == "GetTask"
        return Broken() if is_read and self.methods.count("GetTask") <= 2 else None


async def test_a_task_is_asked_for_again():
    async def ask(text: str):
        answer = yield InputRequired("where?")
        yield f"to {answer.text}"

    for follows_up in (False, True):
        server = LosingReads(build_app(ask))
        async with running(server) as url, RemoteAgent(url) as agent:
            question = await agent.send("fly")
            if follows_up:
                reply = await agent.send("Rome", task_id=question.task_id)
                assert reply.text.endswith("to Rome")
            else:
                assert (await agent.get_task(question.task_id)).is_question
        assert server.methods.count("GetTask") == 3
