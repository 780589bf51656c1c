"""Options of single messages, of agents given by their URLs, and the credentials sent with them."""

from __future__ import annotations

import asyncio

import pytest

from a2a_adapters import (
    ApiKeyAuth,
    BearerAuth,
    ConfigurationError,
    HeadersAuth,
    RemoteAgent,
    RemoteAuthError,
    RemoteConnectionError,
    RemoteOptions,
    RemoteTimeoutError,
    build_app,
)
from a2a_adapters.testing import running
from tests.support.servers.front import Recording
from tests.support.servers.guarded import api_key, bearer
from tests.support.servers.states import asks_city


async def silent(text: str) -> str:
    await asyncio.Event().wait()
    return text


@pytest.mark.parametrize("in_conversation", [False, True])
async def test_a_message_may_have_a_timeout(in_conversation):
    async with running(build_app(silent)) as url, RemoteAgent(url) as agent:
        await agent.card()
        send = agent.conversation().send if in_conversation else agent.send
        with pytest.raises(RemoteTimeoutError, match=r"no complete answer within 0.2 s"):
            await send("x", timeout=0.2)
        with pytest.raises(ConfigurationError, match="greater than 0"):
            await send("x", timeout=0)
        with pytest.raises(TypeError, match="temperature"):
            await send("x", temperature=1)


@pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
async def test_a_message_may_have_headers(binding):
    recording = Recording(asks_city())
    options = RemoteOptions(bindings=[binding])
    async with (
        running(recording) as url,
        RemoteAgent(url, auth=BearerAuth("one"), options=options) as agent,
    ):
        asked = await agent.send("book", headers={"X-Tenant": "a", "Authorization": "Bearer two"})
        events = agent.stream("Rome", task_id=asked.task_id, headers={"x-tenant": "b"})
        async for _ in events:
            await agent.get_task(asked.task_id)  # another request in the same asyncio task
        with pytest.raises(RemoteAuthError, match="cannot be sent"):
            await agent.send("x", headers={"X-Tenant": "a\nb"})
        elsewhere = agent.conversation(context_id=asked.context_id)
        await elsewhere.send("again", headers={"X-Tenant": "c"})
    sent = recording.header_values("x-tenant")
    assert list(filter(None, sent)) == ["a", "b", "b", "c", "c"]
    assert "Bearer two" in recording.header_values("authorization")
    assert not sent[0]  # all calls share the card


async def test_an_agent_given_by_its_url_has_options():
    recording = Recording(build_app(silent))
    async with running(recording) as url:
        agent = RemoteAgent.of(url, timeout=0.2, headers={"X-Key": "k"})
        with pytest.raises(RemoteTimeoutError):
            await agent.send("x")
        await agent.aclose()
    assert set(recording.header_values("x-key")) == {"k"}
    with pytest.raises(RemoteConnectionError):
        await RemoteAgent.of("http://127.0.0.1:9", max_retries=0).send("x")


@pytest.mark.parametrize(
    ("option", "why"),
    [
        ({"timeout": 0}, "timeout must be greater than 0"),
        ({"max_retries": -1}, "0 or more"),
        ({"colour": 1}, "colour"),
    ],
)
def test_options_that_make_no_sense_are_refused(option, why):
    with pytest.raises((ConfigurationError, TypeError), match=why):
        RemoteAgent.of("http://localhost:1", **option)


def test_a_remote_agent_has_its_own_options():
    with pytest.raises(ConfigurationError, match="timeout: a RemoteAgent has its own"):
        RemoteAgent.of(RemoteAgent("http://localhost:1"), timeout=1)


@pytest.mark.parametrize("card_too", [True, False])
@pytest.mark.parametrize(
    ("server", "auth"),
    [
        (bearer, BearerAuth("s3cret")),
        (bearer, BearerAuth(lambda: "s3cret")),
        (api_key, ApiKeyAuth("s3cret")),
        (api_key, HeadersAuth({"X-API-Key": "s3cret"})),
    ],
)
async def test_credentials(server, auth, card_too):
    async with running(server(card_too=card_too)) as url:
        async with RemoteAgent(url, auth=auth) as agent:
            assert (await agent.send("ping")).text == "pong: ping"
        async with RemoteAgent(url) as stranger:
            with pytest.raises(RemoteAuthError, match="401"):
                await stranger.send("ping")


async def test_a_token_is_asked_for_each_time():
    tokens = ["one", "two"]

    async def next_token():
        return tokens[0]

    guarded = bearer("one")
    async with running(guarded) as url, RemoteAgent(url, auth=BearerAuth(next_token)) as agent:
        await agent.send("ping")
        tokens.pop(0)
        guarded.value = "Bearer two"
        assert (await agent.send("ping")).text == "pong: ping"


async def test_a_failing_token_callable_does_not_reveal_its_reason():
    def no_token():
        raise LookupError("the vault's secret path")

    async with running(bearer()) as url, RemoteAgent(url, auth=BearerAuth(no_token)) as agent:
        with pytest.raises(RemoteAuthError, match="LookupError") as caught:
            await agent.send("ping")
    assert "vault" not in str(caught.value)


@pytest.mark.parametrize("auth", [BearerAuth("s3cret\n"), ApiKeyAuth(lambda: " s3cret")])
async def test_a_secret_that_cannot_be_sent_is_not_revealed(auth):
    async with running(bearer()) as url, RemoteAgent(url, auth=auth) as agent:
        with pytest.raises(RemoteAuthError, match="cannot be sent") as caught:
            await agent.send("ping")
    assert "s3cret" not in str(caught.value)
