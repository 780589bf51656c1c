"""One agent called on behalf of several users."""

from __future__ import annotations

import asyncio

import pytest

from a2a_adapters import (
    AgentRequest,
    ApiKeyAuth,
    BearerAuth,
    BearerTokens,
    ConfigurationError,
    InputRequired,
    RemoteAgent,
    RemoteAuthError,
    RemoteRefusedError,
    ServerOptions,
    build_app,
)
from a2a_adapters.testing import running
from tests.support.servers.front import Recording

USERS = {f"t0ken-{number}": f"user-{number}" for number in range(20)}


async def names_caller(request: AgentRequest):
    if request.text == "ask":
        await asyncio.sleep(0)
        yield InputRequired(f"{request.owner}?")
    yield f"{request.owner} in {request.context_id}"


def app():
    return build_app(names_caller, options=ServerOptions(authentication=BearerTokens(USERS)))


async def test_concurrent_users_have_their_own_credentials_and_conversations():
    front = Recording(app())
    async with running(front) as url, RemoteAgent(url) as agent:

        async def talk(token):
            mine = agent.as_user(token).conversation("same key")
            first, second = [await mine.send("hello") for _ in range(2)]
            assert first.text == second.text
            return first

        replies = await asyncio.gather(*map(talk, USERS))
        assert [reply.text.split()[0] for reply in replies] == list(USERS.values())
        assert len({reply.context_id for reply in replies}) == len(USERS)
        with pytest.raises(RemoteAuthError):
            await agent.send("hello")
    assert len([request for request in front.received if request.method == "GET"]) == 1


async def test_every_operation_has_the_credentials_of_the_user():
    async with running(app()) as url, RemoteAgent(url) as agent:
        ann, ben = agent.as_user("t0ken-0"), agent.as_user(lambda: "t0ken-1")
        task = await ann.start("ask")
        assert (await task.result()).text == "user-0?"
        assert [each.id async for each in ann.tasks()] == [task.id]
        assert [each.id async for each in ben.tasks()] == []
        with pytest.raises(RemoteRefusedError):
            await ben.task(task.id).answer("me")
        with pytest.raises(RemoteRefusedError):
            await ben.cancel(task.id)
        resumed = ann.conversation(context_id=task.context_id)
        assert (await resumed.send("hello")).task_id == task.id


async def test_a_user_replaces_the_credentials_of_the_agent():
    async with running(app()) as url, RemoteAgent(url, auth=BearerAuth("t0ken-0")) as agent:
        ben = agent.as_user(BearerAuth("t0ken-1"))
        for caller, name in (
            (agent, "user-0"),
            (ben, "user-1"),
            (ben.as_user("t0ken-2"), "user-2"),
        ):
            assert (await caller.send("hello")).text.startswith(name)
        for nobody in (lambda: None, ApiKeyAuth("t0ken-0")):
            with pytest.raises(RemoteAuthError):
                await agent.as_user(nobody).send("hello")
        with pytest.raises(ConfigurationError, match="empty"):
            agent.as_user("")
        with pytest.raises(ConfigurationError, match="a string or a callable, not NoneType"):
            agent.as_user(None)
        assert "t0ken" not in repr(ben)


async def test_closing_the_agent_of_a_user_leaves_the_connections_open():
    front = Recording(app())
    async with running(front) as url, RemoteAgent(url) as agent:
        async with agent.as_user("t0ken-0") as ann:
            await ann.send("hello")
        await agent.as_user("t0ken-1").send("hello")
    assert len([request for request in front.received if request.method == "GET"]) == 1


async def test_a_callable_that_calls_an_agent_does_not_send_it_the_credentials_of_the_user():
    vault, front = Recording(build_app(lambda text: "t0ken-0")), Recording(app())
    async with running(vault) as safe, running(front) as url:
        async with RemoteAgent(safe) as keeper, RemoteAgent(url) as agent:

            async def token():
                return (await keeper.send("the token")).text

            reply = await agent.as_user(token).send("hello", headers={"X-Secret": "mine"})
        assert reply.text.startswith("user-0")
    for request in vault.received:
        assert not {"authorization", "x-secret"} & set(request.headers)
