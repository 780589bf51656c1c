"""Agents that break off, hang, flood, refuse or send invalid responses."""

from __future__ import annotations

import asyncio
from uuid import uuid4

import httpx
import pytest
from a2a.types import AgentCard

from a2a_adapters import (
    AgentReply,
    InputRequired,
    Limits,
    RemoteAgent,
    RemoteAgentError,
    RemoteAnswerError,
    RemoteAuthError,
    RemoteConnectionError,
    RemoteOptions,
    RemoteRefusedError,
    RemoteTimeoutError,
    ServerOptions,
    TextDelta,
    build_app,
)
from a2a_adapters.protocol.card import DEDUPLICATION_EXTENSION
from a2a_adapters.testing import running
from tests.support.servers.broken import BreakingStream
from tests.support.servers.flaky import Flaky
from tests.support.servers.front import Recording
from tests.support.servers.hanging import (
    endless_chunks,
    endless_comments,
    hanging_card,
    hangs_after_headers,
    hangs_before_headers,
    hangs_mid_stream,
)
from tests.support.servers.huge import huge_answer, huge_card
from tests.support.servers.malformed import (
    ERROR_CODES,
    MALFORMED,
    bad_card,
    http_error,
    json_for_stream,
    redirecting,
    rpc_error,
    stranger_in_stream,
)
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

    options = RemoteOptions(idle_timeout=0.05, retries=1000)
    async with (
        running(Watching(build_app(think))) as url,
        RemoteAgent(url, options=options) as agent,
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
            card = await agent.card()
        wanted = [
            interface
            for interface in card.supported_interfaces
            if (interface.protocol_binding, interface.protocol_version) == (binding, version)
        ]
        only = AgentCard()
        only.CopyFrom(card)
        only.ClearField("supported_interfaces")
        only.supported_interfaces.extend(wanted)
        impatient = RemoteAgent(only, options=RemoteOptions(retries=0))
        async with RemoteAgent(only) as agent, impatient, asyncio.TaskGroup() as calls:
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
    async with (
        running(app) as url,
        httpx.AsyncClient(base_url=url, headers=headers, timeout=60) as http,
    ):
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


async def test_an_unreachable_agent():
    options = RemoteOptions(retries=1)
    async with RemoteAgent("http://127.0.0.1:9", options=options) as agent:
        with pytest.raises(RemoteConnectionError, match="cannot be reached"):
            await agent.send("ping")


@pytest.mark.parametrize("name", MALFORMED)
async def test_nonsense_is_an_error(name):
    options = RemoteOptions(retries=0, timeout=60)
    async with running(MALFORMED[name]()) as url, RemoteAgent(url, options=options) as agent:
        with pytest.raises(RemoteAgentError) as caught:
            await agent.send("ping")
        assert "Traceback" not in str(caught.value)
        assert "<script>" not in str(caught.value)


@pytest.mark.parametrize("code", ERROR_CODES)
async def test_an_error_of_the_protocol_keeps_its_code(code):
    async with running(rpc_error(code, "Nope\x1b[2J")) as url, RemoteAgent(url) as agent:
        with pytest.raises(RemoteRefusedError, match="Nope") as caught:
            await agent.send("ping")
    assert caught.value.code == code
    assert "\x1b" not in str(caught.value)


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (401, RemoteAuthError),
        (403, RemoteAuthError),
        (404, RemoteAnswerError),
        (500, RemoteAnswerError),
        (502, RemoteConnectionError),
        (503, RemoteConnectionError),
    ],
)
async def test_http_errors(status, error):
    options = RemoteOptions(retries=0)
    async with running(http_error(status)) as url, RemoteAgent(url, options=options) as agent:
        with pytest.raises(error, match=str(status)) as caught:
            await agent.send("ping")
    assert type(caught.value) is error


async def moved(scope, receive, send):
    if scope["type"] == "http":
        headers = [(b"location", b"http://127.0.0.1:1/\x9b2J")]
        await send({"type": "http.response.start", "status": 302, "headers": headers})
        await send({"type": "http.response.body"})


async def test_errors_for_moved_cards_contain_no_control_characters():
    async with running(moved) as url, RemoteAgent(url) as agent:
        with pytest.raises(RemoteAnswerError, match="redirects to http") as raised:
            await agent.card()
    assert str(raised.value).isprintable()


async def test_a_redirect_is_not_followed():
    async with running(redirecting("http://127.0.0.1:1/")) as url, RemoteAgent(url) as agent:
        with pytest.raises(RemoteAgentError):
            await agent.send("ping")


@pytest.mark.parametrize("app", [stranger_in_stream, json_for_stream])
async def test_odd_answers_that_are_still_answers(app):
    async with running(app()) as url, RemoteAgent(url) as agent:
        assert await collect(agent) == ("pong: ping", "pong: ping")


@pytest.mark.parametrize("app", [hangs_before_headers, hangs_after_headers, hangs_mid_stream])
async def test_an_answer_has_a_time_limit(app):
    server = app()
    async with running(server) as url, RemoteAgent(url) as patient:
        card = await patient.card()
        async with RemoteAgent(card, options=IMPATIENT) as agent:
            with pytest.raises(RemoteTimeoutError, match=r"0\.3 s"):
                await agent.send("ping")
            async with asyncio.timeout(60):
                await server.gone.wait()


@pytest.mark.parametrize("app", [endless_chunks, endless_comments])
async def test_an_endless_answer_ends(app):
    async with running(app()) as url, RemoteAgent(url, options=IMPATIENT) as agent:
        with pytest.raises(RemoteTimeoutError):
            await agent.send("ping")


async def test_a_card_has_a_time_limit():
    async with running(hanging_card()) as url, RemoteAgent(url, options=IMPATIENT) as agent:
        with pytest.raises(RemoteAgentError):
            await agent.send("ping")


@pytest.mark.parametrize("compressed", [False, True])
async def test_too_large_answers_are_not_read(compressed):
    options = RemoteOptions(answer_bytes=1 << 20, card_bytes=1 << 16)
    for server in (huge_answer(compressed=compressed), huge_card(compressed=compressed)):
        async with running(server) as url, RemoteAgent(url, options=options) as agent:
            with pytest.raises(RemoteAnswerError, match=r"bytes|gzip"):
                await agent.send("ping")
        assert server.sent < 40 << 20


@pytest.mark.parametrize("body", ["", "[]", "{}", "null", '{"name": 3}', "<html>"])
async def test_invalid_cards(body):
    async with running(bad_card(body)) as url, RemoteAgent(url) as agent:
        with pytest.raises(RemoteAnswerError, match="card"):
            await agent.send("ping")


async def test_a_missing_card_is_fetched_again_by_the_next_call():
    async with running(bad_card("", 404)) as url, RemoteAgent(url) as agent:
        for _ in range(2):
            with pytest.raises(RemoteAnswerError, match="no agent card"):
                await agent.send("ping")
