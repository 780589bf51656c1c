"""Tokens of a program for itself, and mutual TLS."""

from __future__ import annotations

import asyncio
import ssl

import pytest
import trustme
from a2a_adapters_oauth import ClientCredentials, SigningKey

from a2a_adapters import (
    ConfigurationError,
    RemoteAgent,
    RemoteAnswerError,
    RemoteAuthError,
    RemoteConnectionError,
    RemoteOptions,
)
from tests.plugins.oauth.authorization import CLIENT_KEY, SECRET, LoginServer
from tests.plugins.oauth.conftest import said
from tests.support.servers.front import Recording
from tests.support.servers.sdk import sdk_app
from tests.support.servers.streams import chunking
from tests.support.tls import running_with_tls

ONCE = RemoteOptions(retries=0)
ANSWER = "agent through nobody to agent-b for read write"


def credentials(login, **options):
    return ClientCredentials("agent", SECRET, token_url=f"{login.url}/token", **options)


async def test_a_named_endpoint(login, front):
    async with RemoteAgent(front.url, auth=credentials(login)) as agent:
        assert [(await agent.send("hi")).text for _ in range(3)] == [ANSWER] * 3
    assert len(login.forms) == 1
    assert "authorization" not in front.received[0].headers  # of the card


@pytest.mark.parametrize("kind", ["posting", "signing"])
async def test_ways_to_authenticate_a_client(login, front, kind):
    secret = SigningKey(CLIENT_KEY.as_pem(private=True)) if kind == "signing" else lambda: SECRET
    auth = ClientCredentials(
        kind, secret, token_url=f"{login.url}/token", secret_in_body=kind == "posting"
    )
    assert (await said(front, auth)).startswith(f"{kind} through")
    assert SECRET not in repr(auth)
    assert "authorization" not in login.headers[0]


async def test_scopes_and_audience_are_requested(login, place):
    front = await place("elsewhere")
    auth = credentials(login, scopes=["read"], audience="elsewhere")
    assert (await said(front, auth)) == "agent through nobody to elsewhere for read"


@pytest.mark.parametrize("slash", ["", "/"])
async def test_an_issuer_names_the_endpoint_in_its_metadata(login, front, slash):
    login.expires_in = 0
    auth = ClientCredentials("agent", SECRET, issuer=login.url + slash)
    async with RemoteAgent(front.url, auth=auth) as agent:
        for _ in range(2):
            assert (await agent.send("hi")).text == ANSWER
    assert login.metadata_requests.total() == 1


async def test_metadata_of_another_issuer_is_refused(login, front):
    login.issuer = "https://evil.example"
    auth = ClientCredentials("agent", SECRET, issuer=login.url)
    with pytest.raises(RemoteAnswerError, match="another issuer"):
        await said(front, auth, options=ONCE)
    assert not login.forms


async def test_concurrent_calls_share_one_request(login, front):
    login.may_answer.clear()
    async with RemoteAgent(front.url, auth=credentials(login)) as agent:
        calls = [asyncio.create_task(agent.send("hi")) for _ in range(30)]
        await login.asked.wait()
        calls[0].cancel()  # the one that asks, for all
        login.may_answer.set()
        first, *replies = await asyncio.gather(*calls, return_exceptions=True)
    assert isinstance(first, asyncio.CancelledError)
    assert {reply.text for reply in replies} == {ANSWER}
    assert len(login.forms) == 1


async def test_an_expired_token_is_renewed_before_it_is_sent(login, front):
    login.expires_in = 0
    async with RemoteAgent(front.url, auth=credentials(login)) as agent:
        for _ in range(3):
            assert (await agent.send("hi")).text == ANSWER
    assert len(set(front.tokens)) == len(front.tokens) == len(login.forms) == 3


async def test_a_refused_token_is_replaced_once(login, front):
    async with RemoteAgent(front.url, auth=credentials(login)) as agent:
        await agent.send("hi")
        front.revoked.add(front.tokens[0])
        replies = await asyncio.gather(*(agent.send("hi") for _ in range(10)))
    assert {reply.text for reply in replies} == {ANSWER}
    assert len(login.forms) == len(set(front.tokens)) == 2


async def test_a_token_for_another_audience_is_refused(login, place):
    front = await place("agent-c")
    with pytest.raises(RemoteAuthError, match="401"):
        await said(front, credentials(login))
    assert len(login.forms) == 2


async def test_a_refused_client_learns_why_without_its_secret(login, front, caplog):
    auth = ClientCredentials("agent", "wr0ng", token_url=f"{login.url}/token")
    with pytest.raises(RemoteAuthError, match="invalid_client") as caught:
        await said(front, auth)
    assert "wr0ng" not in str(caught.value) + caplog.text
    assert not front.messages


@pytest.mark.parametrize("status", [500, 503])
async def test_an_ill_server(login, front, status):
    login.status = status
    async with RemoteAgent(front.url, auth=credentials(login), options=ONCE) as agent:
        with pytest.raises(
            RemoteAnswerError, match=f"{login.url}/token answered with HTTP {status}"
        ):
            await agent.send("hi")


async def test_an_absent_server_is_reported_to_each_caller_separately(front):
    auth = ClientCredentials("agent", SECRET, token_url="http://127.0.0.1:9/token")
    async with RemoteAgent(front.url, auth=auth, options=ONCE) as agent:
        calls = (agent.send("hi") for _ in range(5))
        errors = await asyncio.gather(*calls, return_exceptions=True)
    assert all(isinstance(error, RemoteConnectionError) for error in errors)
    assert "127.0.0.1:9/token cannot be reached" in str(errors[0])
    assert len({id(error) for error in errors}) == 5


@pytest.mark.parametrize("name", ["token_url", "issuer"])
@pytest.mark.parametrize(
    "url",
    [
        "http://login.example/token",
        "http://127.0.0.1\\@login.example/token",
        "ftp://127.0.0.1",
        "login.example",
        "https://login example",
        "https://[",
    ],
)
def test_secrets_are_sent_over_https_only(name, url):
    with pytest.raises(ConfigurationError, match="neither https"):
        ClientCredentials("agent", SECRET, **{name: url})


def test_missing_and_contradictory_arguments():
    for arguments in (("", SECRET), ("agent", "")):
        with pytest.raises(ConfigurationError):
            ClientCredentials(*arguments)
    with pytest.raises(ConfigurationError, match="either"):
        ClientCredentials(
            "agent", SECRET, token_url="https://a.example", issuer="https://a.example"
        )
    with pytest.raises(ConfigurationError, match="private key"):
        SigningKey("nothing")


async def test_the_token_itself(login):
    assert login.verified(await credentials(login).token())["sub"] == "agent"
    with pytest.raises(ConfigurationError, match="token_url"):
        await ClientCredentials("agent", SECRET).token()


async def test_metadata_may_be_at_either_address(login, front):
    login.hidden.add("/.well-known/openid-configuration")
    auth = ClientCredentials("agent", SECRET, issuer=login.url)
    assert (await said(front, auth)) == ANSWER
    assert login.metadata_requests == {
        "/.well-known/openid-configuration": 1,
        "/.well-known/oauth-authorization-server": 1,
    }


@pytest.mark.parametrize("endpoint", ["", "http://login.example/token"])
async def test_metadata_without_a_safe_endpoint(login, front, endpoint):
    login.endpoint = endpoint
    auth = ClientCredentials("agent", SECRET, issuer=login.url)
    with pytest.raises(RemoteAnswerError, match="no token endpoint with https"):
        await said(front, auth)
    assert not login.forms


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
