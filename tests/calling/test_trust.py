"""Cards and answers are not trusted."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import httpx
import pytest
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

from a2a_adapters import (
    BearerAuth,
    ForbiddenUrlError,
    OutboundPolicy,
    RemoteAgent,
    RemoteAgentError,
    RemoteConnectionError,
    RemoteOptions,
)
from a2a_adapters.calling.auth import Trust
from a2a_adapters.testing import running
from tests.support.servers import FOREIGN_AGENTS
from tests.support.servers.cards import agent_card
from tests.support.servers.front import Recording
from tests.support.servers.lying import (
    LYING_URLS,
    credentials_in_url,
    hostile_card,
    lying_card,
    nameless_card,
)

ONCE = RemoteOptions(retries=0, timeout=60)


@pytest.mark.parametrize("name", sorted(set(LYING_URLS) - {"other host"}))
async def test_a_card_cannot_send_us_where_it_likes(name):
    async with (
        running(lying_card(LYING_URLS[name])) as url,
        RemoteAgent(url, options=ONCE) as agent,
    ):
        with pytest.raises(RemoteAgentError):
            await agent.send("ping")


async def elsewhere(host, port):
    return ["10.1.2.3"]


async def test_a_name_for_a_private_address_is_refused():
    options = replace(ONCE, outbound=OutboundPolicy(resolver=elsewhere))
    async with (
        running(lying_card(LYING_URLS["other host"])) as url,
        RemoteAgent(url, options=options) as agent,
    ):
        with pytest.raises(RemoteConnectionError, match=r"forbidden.*10\.1\.2\.3"):
            await agent.send("ping")


def pointing_to(target) -> Starlette:
    """Return an agent that consists of a card with another address."""

    async def card(request):
        from a2a.server.request_handlers.response_helpers import agent_card_to_dict

        return JSONResponse(agent_card_to_dict(agent_card(target)))

    return Starlette(routes=[Route("/.well-known/agent-card.json", card)])


async def ourselves(host, port):
    return ["127.0.0.1"]


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
@pytest.mark.parametrize("trusted", ["{host}", "{host}:{port}", "{host}:1", ""])
async def test_credentials_go_to_trusted_servers_only(host, trusted, caplog):
    recording = Recording()
    async with running(recording) as address:
        other = address.replace("127.0.0.1", host)
        named = trusted.format(host=host, port=address.rpartition(":")[2])
        is_trusted = trusted in {"{host}", "{host}:{port}"}
        options = RemoteOptions(
            outbound=OutboundPolicy(allow_private=True, resolver=ourselves),
            trusted_hosts={named} if named else (),
        )
        async with (
            running(pointing_to(f"{other}/")) as url,
            RemoteAgent(url, auth=BearerAuth("s3cret"), options=options) as agent,
        ):
            assert (await agent.send("ping")).text == "pong: ping"
    assert recording.received
    sent = [received.headers.get("authorization") for received in recording.received]
    assert sent == ["Bearer s3cret" if is_trusted else None] * len(sent)
    assert caplog.text.count("gets no credentials") == (not is_trusted)
    assert "s3cret" not in caplog.text


@pytest.mark.parametrize("typed", ["127.0.0.1", "localhost"])
async def test_the_names_of_this_machine_are_one_host(typed):
    async with running(FOREIGN_AGENTS["chunks"]()) as agent:
        other = "localhost" if typed == "127.0.0.1" else "127.0.0.1"
        async with running(pointing_to(f"{agent.replace('127.0.0.1', other)}/")) as host:
            async with RemoteAgent(host.replace("127.0.0.1", typed), options=ONCE) as remote:
                assert (await remote.send("ping")).text == "pong: ping"
            async with RemoteAgent(host, options=ONCE, named_by="https://agents.example") as listed:
                with pytest.raises(ForbiddenUrlError):
                    await listed.send("ping")


@pytest.mark.parametrize(
    ("url", "is_own"),
    [
        ("https://agents.example/rpc", True),
        ("https://agents.example:443/rpc", True),
        ("https://agents.example:8443/rpc", False),
        ("http://agents.example/rpc", False),
        ("http://agents.example:443/rpc", False),
        ("https://agents.example.evil/rpc", False),
    ],
)
def test_an_origin_is_scheme_host_and_port(url, is_own):
    trust = Trust(httpx.URL("https://agents.example/card.json"), ())
    assert trust.gets_credentials(httpx.URL(url)) is is_own


async def test_credentials_in_the_cards_address_do_not_prevent_calls():
    async with running(credentials_in_url()) as url, RemoteAgent(url, options=ONCE) as agent:
        assert (await agent.send("ping")).text == "pong: ping"


async def test_the_description_for_models_is_shortened():
    async with running(hostile_card()) as url, RemoteAgent(url) as agent:
        about = await agent.describe()
        assert (await agent.send("ping")).text == "pong: ping"
    texts = [about.name, about.description]
    for skill in about.skills:
        texts += [skill.id, skill.name, skill.description, *skill.tags, *skill.examples]
    assert len(about.name) <= 100
    assert len(about.description) <= 1000
    assert len(about.skills) <= 50
    assert all(text.isprintable() for text in texts)


async def test_an_agent_without_a_name():
    async with running(nameless_card()) as url, RemoteAgent(url) as agent:
        assert (await agent.describe()).skills == []
        assert (await agent.send("ping")).text == "pong: ping"


@pytest.mark.thorough
async def test_a_server_on_a2a_sdk_0_3(sdk_v03_url):
    async with RemoteAgent(sdk_v03_url) as agent:
        conversation = agent.conversation()
        assert (await conversation.send("ping")).text == "pong: ping"
        assert (await conversation.send("book")).text == "Which city?"
        assert conversation.task_id
        booked = await conversation.send("Rome")
        assert "Rome" in booked.text
        with pytest.raises(RemoteAgentError, match="failed"):
            await agent.send("fail")


async def test_cards_are_read_once():
    recording = Recording()
    async with running(recording) as url, RemoteAgent(url) as agent:
        await asyncio.gather(*(agent.send("ping") for _ in range(5)))
        await agent.send("ping")
    assert sum(received.method == "GET" for received in recording.received) == 1
