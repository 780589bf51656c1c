"""Agents that cannot be reached, fail, flood, or send invalid answers."""

from __future__ import annotations

import asyncio

import pytest

from a2a_adapters import (
    RemoteAgent,
    RemoteAgentError,
    RemoteAnswerError,
    RemoteAuthError,
    RemoteConnectionError,
    RemoteOptions,
    RemoteRefusedError,
    RemoteTimeoutError,
)
from a2a_adapters.testing import running
from tests.calling.test_broken import IMPATIENT, collect
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

pytestmark = pytest.mark.timeout(5 * 60)


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
        async with RemoteAgent(card, options=RemoteOptions(timeout=2, retries=0)) as agent:
            with pytest.raises(RemoteTimeoutError, match="2 s"):
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
