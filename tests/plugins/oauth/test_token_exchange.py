"""Calls on behalf of users."""

from __future__ import annotations

import asyncio

import pytest
from a2a_adapters_oauth import ClientCredentials, TokenExchange

from a2a_adapters import ConfigurationError, RemoteAgent, RemoteAuthError
from tests.plugins.oauth.authorization import SECRET
from tests.plugins.oauth.conftest import said

USERS = [f"user-{number}" for number in range(12)]


@pytest.fixture
def exchange(login):
    return TokenExchange(
        audience="agent-b",
        scopes=["read"],
        token_url=f"{login.url}/token",
        client_id="agent",
        client_secret=SECRET,
    )


async def test_an_agent_calls_another_for_several_users_at_once(login, front, exchange):
    login.may_answer.clear()
    tokens = {user: login.user_token(user) for user in USERS}
    async with RemoteAgent(front.url) as agent:

        async def call(user):
            mine = agent.as_user(exchange.on_behalf_of(tokens[user]))
            return (await mine.send("hi")).text

        calls = [asyncio.create_task(call(user)) for user in USERS * 3]
        await login.asked.wait()
        login.may_answer.set()
        answers = await asyncio.gather(*calls)
        answers += await asyncio.gather(*map(call, USERS))
    expected = [f"{user} through agent to agent-b for read" for user in USERS]
    assert answers == expected * 4
    assert len(login.forms) == len(USERS)
    assert not {*front.tokens} & {*tokens.values()}


async def test_a_callable_returns_the_token_of_the_current_user(login, place):
    from contextvars import ContextVar

    current = ContextVar("current")
    front = await place()
    auth = TokenExchange(
        current.get,
        audience="agent-b",
        scopes=["read"],
        issuer=login.url,
        client_id="posting",
        client_secret=SECRET,
        secret_in_body=True,
    )
    async with RemoteAgent(front.url, auth=auth) as agent:

        async def call(user):
            current.set(login.user_token(user))
            return (await agent.send("hi")).text

        answers = await asyncio.gather(*map(call, USERS))
    assert [answer.partition(" ")[0] for answer in answers] == USERS


async def test_the_token_of_the_program_names_the_actor(login, front):
    machine = ClientCredentials("agent", SECRET, token_url=f"{login.url}/token")
    auth = TokenExchange(
        login.user_token("ann"),
        audience="agent-b",
        actor_token=machine.token,
        token_url=f"{login.url}/token",
        client_id="posting",
        client_secret=SECRET,
        secret_in_body=True,
    )
    async with RemoteAgent(front.url, auth=auth) as agent:
        for _ in range(2):
            assert (await agent.send("hi")).text.startswith("ann through agent to agent-b")
    assert [form["grant_type"].rpartition(":")[2] for form in login.forms] == [
        "client_credentials", "token-exchange",
    ]  # fmt: skip


async def test_a_revoked_user_is_refused_and_others_are_not(login, front, exchange, caplog):
    login.expires_in = 0
    ann, ben = (login.user_token(user) for user in ("ann", "ben"))
    async with RemoteAgent(front.url) as agent:
        for token in (ann, ben):
            await agent.as_user(exchange.on_behalf_of(token)).send("hi")
        login.revoked.add("ann")
        with pytest.raises(RemoteAuthError, match="invalid_grant") as caught:
            await agent.as_user(exchange.on_behalf_of(ann)).send("hi")
        answer = await agent.as_user(exchange.on_behalf_of(ben)).send("hi")
    assert answer.text.startswith("ben")
    assert ann not in str(caught.value) + caplog.text  # the server repeats it


async def test_an_expired_token_of_a_user_is_not_exchanged(login, front, exchange):
    old = login.user_token("ann", lifetime=-3600)
    async with RemoteAgent(front.url) as agent:
        with pytest.raises(RemoteAuthError, match="invalid_grant"):
            await agent.as_user(exchange.on_behalf_of(old)).send("hi")
    assert not front.messages


async def test_a_token_for_another_agent_is_refused_by_the_agent(login, place, exchange):
    front = await place("agent-c")
    with pytest.raises(RemoteAuthError, match="401"):
        await said(front, exchange.on_behalf_of(login.user_token("ann")))


@pytest.mark.parametrize("nothing", ["", lambda: "", None, lambda: None])
async def test_without_a_token_of_the_user_nothing_is_sent(login, front, exchange, nothing):
    with pytest.raises(RemoteAuthError):
        await said(front, exchange.on_behalf_of(nothing))
    assert not login.forms
    assert not front.messages


async def test_a_token_is_kept_by_what_it_was_exchanged_for(login, place, exchange):
    front, token = await place(), login.user_token("ann")
    other = TokenExchange(
        audience="agent-b",
        scopes=["write"],
        token_url=f"{login.url}/token",
        client_id="agent",
        client_secret=SECRET,
    )
    async with RemoteAgent(front.url) as agent:
        for each, scope in ((exchange, "read"), (other, "write"), (exchange, "read")):
            answer = await agent.as_user(each.on_behalf_of(token)).send("hi")
            assert answer.text.endswith(f"for {scope}")
    assert len(login.forms) == 2


def test_a_card_never_names_the_server_that_gets_tokens_of_users():
    with pytest.raises(ConfigurationError, match="token_url or issuer"):
        TokenExchange("token", audience="agent-b")
    with pytest.raises(ConfigurationError, match="client_id"):
        TokenExchange("token", token_url="https://login.example", client_secret=SECRET)
    assert "t0ken" not in repr(TokenExchange("t0ken", token_url="https://login.example"))


async def test_an_exchange_without_the_token_of_its_actor_is_not_sent():
    exchange = TokenExchange(
        "user", actor_token=str, audience="b", token_url="https://login.example/token"
    )
    with pytest.raises(RemoteAuthError, match="program that acts"):
        await exchange.grant()
