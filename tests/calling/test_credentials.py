"""Credentials that a caller sends."""

from __future__ import annotations

import pytest

from a2a_adapters import (
    ApiKeyAuth,
    BearerAuth,
    HeadersAuth,
    RemoteAgent,
    RemoteAuthError,
)
from a2a_adapters.testing import running
from tests.support.servers.guarded import api_key, bearer


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
