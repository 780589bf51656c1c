"""Mutual TLS with the agent and with the authorization server."""

from __future__ import annotations

import ssl

import pytest
import trustme
from a2a_adapters_oauth import ClientCredentials

from a2a_adapters import RemoteAgent, RemoteConnectionError, RemoteOptions
from tests.plugins.oauth.authorization import SECRET, LoginServer
from tests.support.servers.front import Recording
from tests.support.servers.sdk import sdk_app
from tests.support.servers.streams import chunking
from tests.support.tls import running_with_tls


@pytest.mark.parametrize("is_known", [True, False])
async def test_a_client_certificate_is_shown_to_agent_and_authorization_server(is_known):
    authority = trustme.CA()
    context = ssl.create_default_context()
    authority.configure_trust(context)
    if is_known:
        authority.issue_cert("reporting.example").configure_cert(context)
    login, server = LoginServer(), Recording(sdk_app(chunking()))
    async with (
        running_with_tls(login.app, authority) as login.url,
        running_with_tls(server, authority) as url,
        RemoteAgent(
            url,
            auth=ClientCredentials("agent", SECRET, issuer=login.url),
            options=RemoteOptions(tls=context, retries=0),
        ) as agent,
    ):
        if is_known:
            assert (await agent.send("ping")).text
            assert server.header_values("authorization")[-1].startswith("Bearer ")
        else:
            with pytest.raises(RemoteConnectionError):
                await agent.send("ping")
            assert not server.received
    assert len(login.forms) == is_known
