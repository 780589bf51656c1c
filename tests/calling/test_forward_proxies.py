"""Agents behind an HTTP proxy, as in companies."""

from __future__ import annotations

import pytest

from a2a_adapters import (
    ConfigurationError,
    OutboundPolicy,
    RemoteAgent,
    RemoteConnectionError,
    RemoteOptions,
)
from a2a_adapters.testing import running
from tests.calling.test_cards import Old, old_card

AGENT = "http://agent.example.org"
NOWHERE = "http://127.0.0.1:9"


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch):
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


async def ask(url, **options):
    async with RemoteAgent(url, options=RemoteOptions(retries=0, **options)) as agent:
        return (await agent.send("ping")).text


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
async def test_the_proxy_of_the_environment_is_used(variable, monkeypatch):
    proxy = Old()  # a proxy gets the whole URL, of which it serves the path
    async with running(proxy) as url:
        monkeypatch.setenv(variable, url.removeprefix("http://"))
        assert await ask(AGENT) == "pong"
    assert ("POST", "/rpc") in proxy.got


async def test_the_option_names_a_proxy_or_none(monkeypatch):
    async with running(Old()) as url:
        assert await ask(AGENT, proxy=url) == "pong"
        monkeypatch.setenv("HTTP_PROXY", url)
        monkeypatch.setenv("NO_PROXY", "example.org")
        for options in ({}, {"proxy": ""}):
            with pytest.raises(RemoteConnectionError):
                await ask(AGENT, **options)


async def test_this_machine_is_called_without_a_proxy(monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", NOWHERE)
    async with running(Old()) as url:
        assert await ask(url) == "pong"
        assert await ask(url, proxy=NOWHERE) == "pong"


@pytest.mark.parametrize("address", ["http://10.1.2.3/rpc", "http://elsewhere.invalid/rpc"])
async def test_the_outbound_policy_applies_to_what_a_proxy_is_asked_for(address):
    proxy = Old(lambda url: old_card(url, url=address))
    host = address.split("/")[2]
    async with running(proxy) as url:
        with pytest.raises(RemoteConnectionError, match="names a forbidden address"):
            await ask(AGENT, proxy=url)
        assert ("POST", "/rpc") not in proxy.got
        allowed = OutboundPolicy(allowed_hosts=frozenset({host}))
        assert await ask(AGENT, proxy=url, outbound=allowed) == "pong"


@pytest.mark.parametrize(
    "proxy",
    ["gopher://ann:s3cret@proxy.example", "ann:s3cret@proxy.example:3128", "http://["],
)
def test_a_proxy_that_cannot_be_used_is_named_without_its_password(proxy):
    with pytest.raises(ConfigurationError, match=r"the proxy .* cannot be used: its URL") as caught:
        RemoteOptions(proxy=proxy)
    assert "s3cret" not in str(caught.value)


async def test_a_proxy_that_cannot_be_used_for_a_call_is_named_too(monkeypatch):
    async with running(Old(lambda url: old_card(url, url="https://agent.example.org/"))) as url:
        monkeypatch.setenv("HTTPS_PROXY", "gopher://proxy.example")
        allowed = OutboundPolicy(allowed_hosts=frozenset({"agent.example.org"}))
        with pytest.raises(ConfigurationError, match=r"proxy\.example cannot be used"):
            await ask(url, outbound=allowed)
