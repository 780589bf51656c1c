"""Requests that a web page could make a browser send to an agent on the user's machine."""

from __future__ import annotations

from contextlib import asynccontextmanager

import httpx
import pytest

from a2a_adapters import BearerTokens, ServerOptions, build_app
from tests.support.requests import V1, client_of, rpc, say, serving

SEND = rpc("SendMessage", say("hello"))
CARD = "/.well-known/agent-card.json"


async def echo(text):
    return text


@asynccontextmanager
async def served(**options):
    """Yield a function that returns the status of a call and of the card."""
    url = options.pop("url", None)
    app = build_app(echo, url=url, options=ServerOptions(**options))
    async with client_of(app, headers=V1) as http:

        async def ask(headers):
            call = await http.post("/", json=SEND, headers=headers)
            return call.status_code, (await http.get(CARD, headers=headers)).status_code

        yield ask


async def test_this_machine_may():
    async with served() as ask:
        for headers in (
            {},
            {"Host": "localhost:9000"},
            {"Host": "LOCALHOST"},
            {"Host": "[::1]:80"},
            {"Host": "127.0.0.1"},
            {"Origin": "http://localhost:3000"},
            {"Origin": "http://127.0.0.1"},
            {"Origin": "https://[::1]:3000"},
        ):
            assert await ask(headers) == (200, 200), headers


async def test_other_pages_may_not():
    async with served() as ask:
        for headers, status in (
            ({"Host": "evil.example"}, 421),
            ({"Host": "evil.example:8000"}, 421),
            ({"Host": "localhost.evil.example"}, 421),
            ({"Host": "127.0.0.1.evil.example"}, 421),
            ({"Host": "192.168.1.5"}, 421),
            ({"Origin": "https://evil.example"}, 403),
            ({"Origin": "http://localhost.evil.example"}, 403),
            ({"Origin": "http://localhost@evil.example"}, 403),
            ({"Origin": "null"}, 403),
            ({"Origin": "http://[bad"}, 403),
            ({"Origin": "file://"}, 403),
            ({"Origin": ""}, 403),
            ({"Origin": "http://evil.example\\@127.0.0.1"}, 403),
            ({"Origin": "http://evil.example#@127.0.0.1"}, 403),
            ({"Origin": "http://127.0.0.1/"}, 403),
            ({"Origin": "http://[127.0.0.1"}, 403),
            ({"Host": "[127.0.0.1"}, 400),
            ({"Host": "127.0.0.1]"}, 400),
            ({"Host": "127.0.0.1, evil.example"}, 400),
            ({"Host": "evil.example@127.0.0.1"}, 400),
        ):
            assert await ask(headers) == (status, status), headers


async def test_the_refusal_says_what_to_do():
    async with serving(echo) as http:
        answer = await http.post("/", json=SEND, headers={"Host": "agent.example:80"})
    assert answer.json()["error"]["message"].startswith("the host 'agent.example' is not this")
    assert "allowed_hosts=['agent.example']" in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    "options",
    [
        {"allowed_hosts": ["Agent.example"]},
        {"allowed_hosts": ["*"]},
        {"url": "https://agent.example/prefix"},
        {"authentication": BearerTokens({"secret": "ann"})},
    ],
)
async def test_hosts_that_are_allowed(options):
    headers = {
        "Host": "agent.example",
        "Origin": "https://agent.example",
        "Authorization": "Bearer secret",
    }
    async with served(**options) as ask:
        assert await ask(headers) == (200, 200)


async def test_the_browser_guard_does_not_apply_beyond_loopback():
    """The server tells whether a request came over the network."""
    app = build_app(echo)
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://agent.example") as http:
        assert (await http.get(CARD)).status_code == 200
