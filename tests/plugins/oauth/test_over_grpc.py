"""Tokens and users over gRPC."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from a2a_adapters_jwt import JwtTokens
from a2a_adapters_oauth import ClientCredentials, TokenExchange

from a2a_adapters import RemoteAuthError, UnauthenticatedError
from tests.plugins.oauth.authorization import SECRET
from tests.plugins.oauth.conftest import names_caller
from tests.support.grpc_agents import ONCE, grpc_agent

TRUSTING = replace(ONCE, trusted_hosts=["127.0.0.1"])


class Revoking(JwtTokens):
    """Refuses the tokens in `revoked`, and records all."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.seen, self.revoked = [], set()

    async def identify(self, headers):
        token = headers.get("authorization", "").removeprefix("Bearer ")
        self.seen.append(token)
        if token in self.revoked:
            raise UnauthenticatedError("revoked")
        return await super().identify(headers)


@pytest.fixture
def accepted(login):
    return Revoking(f"{login.url}/keys", issuer=login.url, audience="agent-b")


@pytest.fixture
async def agent(login, accepted):
    auth = ClientCredentials("agent", SECRET, token_url=f"{login.url}/token")
    async with grpc_agent(
        names_caller, auth=auth, remote=TRUSTING, authentication=accepted
    ) as agent:
        yield agent


async def test_a_refused_token_is_replaced_once(agent, login, accepted):
    await agent.send("hi")
    for call in (agent.send, agent.start):  # a stream, and a single answer
        accepted.revoked.add(accepted.seen[-1])
        await call("hi")
    assert len(login.forms) == len({*accepted.seen}) == 3


async def test_a_token_that_is_always_refused(agent, login, accepted):
    login.audience = "agent-c"
    for calls, call in ((2, agent.send), (4, agent.start)):
        with pytest.raises(RemoteAuthError, match="UNAUTHENTICATED"):
            await call("hi")
        assert len(accepted.seen) == calls


async def test_several_users_at_once(agent, login):
    exchange = TokenExchange(
        audience="agent-b",
        scopes=["read"],
        token_url=f"{login.url}/token",
        client_id="agent",
        client_secret=SECRET,
    )
    users = [f"user-{number}" for number in range(10)]

    async def call(user):
        mine = agent.as_user(exchange.on_behalf_of(login.user_token(user)))
        return (await mine.send("hi")).text.partition(" ")[0]

    assert await asyncio.gather(*map(call, users)) == users
