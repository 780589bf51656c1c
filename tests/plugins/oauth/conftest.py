"""Fixtures: an authorization server, and agents that accept its tokens."""

from __future__ import annotations

from contextlib import AsyncExitStack

import pytest
from a2a_adapters_jwt import JwtTokens

from a2a_adapters import AgentRequest, RemoteAgent, ServerOptions, build_app
from a2a_adapters.testing import running
from tests.plugins.oauth.authorization import LoginServer
from tests.support.servers.front import Recording


@pytest.fixture
async def stack():
    async with AsyncExitStack() as stack:
        yield stack


@pytest.fixture
async def login(stack):
    """Return a running authorization server."""
    server = LoginServer()
    server.url = await stack.enter_async_context(running(server.app))
    return server


@pytest.fixture
def place(stack, login):
    """Return a function that serves an agent for tokens of the server, behind a `Front`."""

    async def place(audience="agent-b", front=Front, tokens=JwtTokens, **options):
        accepted = tokens(f"{login.url}/keys", issuer=login.url, audience=audience)
        options = ServerOptions(authentication=accepted, **options)
        front = front(build_app(names_caller, options=options))
        front.url = await stack.enter_async_context(running(front))
        return front

    return place


@pytest.fixture
async def front(place):
    """Return the front of an agent for the tokens of its audience."""
    return await place()


class Front(Recording):
    """Records requests, and refuses those with tokens in `revoked`."""

    url = ""

    def __init__(self, agent):
        super().__init__(agent)
        self.revoked = set()

    @property
    def tokens(self):
        """The tokens received, in order."""
        return [
            each.removeprefix("Bearer ") for each in self.header_values("authorization") if each
        ]

    def refusal(self, request):
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        return refused if token in self.revoked else None


async def refused(scope, receive, send):
    await send({"type": "http.response.start", "status": 401, "headers": []})
    await send({"type": "http.response.body", "body": b""})


async def names_caller(request: AgentRequest):
    """Name the caller."""
    claims = request.caller.claims
    actor = claims.get("act", {}).get("sub", "nobody")
    yield f"{request.owner} through {actor} to {claims['aud']} for {claims['scope']}"


async def said(front, auth, text="hi", **options):
    """Return the answer of an agent that is called with these credentials."""
    async with RemoteAgent(front.url, auth=auth, **options) as agent:
        return (await agent.send(text)).text
