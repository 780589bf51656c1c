"""Token endpoints named by cards, which are not trusted."""

from __future__ import annotations

import asyncio

import pytest
from a2a.types import (
    ClientCredentialsOAuthFlow,
    DeviceCodeOAuthFlow,
    OAuth2SecurityScheme,
    OAuthFlows,
    OpenIdConnectSecurityScheme,
    SecurityRequirement,
    SecurityScheme,
    StringList,
)
from a2a_adapters_oauth import ClientCredentials

from a2a_adapters import RemoteAgent, RemoteAgentError, RemoteAuthError, RemoteOptions
from a2a_adapters.testing import running
from tests.plugins.oauth.authorization import SECRET, LoginServer
from tests.support.servers.cards import agent_card
from tests.support.servers.front import Recording
from tests.support.servers.sdk import sdk_app
from tests.support.servers.streams import chunking

ONCE = RemoteOptions(retries=0)
PATHS = {
    "/token",
    "/.well-known/openid-configuration",
    "/.well-known/oauth-authorization-server",
}


def oauth(url):
    flow = ClientCredentialsOAuthFlow(token_url=f"{url}/token", scopes={"read": "Read."})
    scheme = OAuth2SecurityScheme(flows=OAuthFlows(client_credentials=flow))
    return SecurityScheme(oauth2_security_scheme=scheme)


def metadata(url):
    found = f"{url}/.well-known/oauth-authorization-server"
    return SecurityScheme(oauth2_security_scheme=OAuth2SecurityScheme(oauth2_metadata_url=found))


def openid(url):
    found = f"{url}/.well-known/openid-configuration"
    scheme = OpenIdConnectSecurityScheme(open_id_connect_url=found)
    return SecurityScheme(open_id_connect_security_scheme=scheme)


class Agent(Recording):
    """An agent whose card names an authorization server: a given one, or that at its own origin."""

    def __init__(self, kind, login=None):
        self.login = login or LoginServer()
        self.names_itself = login is None
        super().__init__(sdk_app(chunking(), card=lambda url: self.card(kind, url)))
        self.own = self.login.app if self.names_itself else None

    def card(self, kind, url):
        card = agent_card(url)
        origin = url.rstrip("/")
        if self.names_itself:
            self.login.url = origin
        card.security_schemes["login"].CopyFrom(kind(self.login.url))
        scopes = StringList(list=["read"])
        card.security_requirements.append(SecurityRequirement(schemes={"login": scopes}))
        return card

    async def __call__(self, scope, receive, send):
        if self.own and scope["type"] == "http" and scope["path"] in PATHS:
            await self.own(scope, receive, send)
        else:
            await super().__call__(scope, receive, send)


KINDS = pytest.mark.parametrize("kind", [oauth, metadata, openid], ids=lambda kind: kind.__name__)


def sent_tokens(agent):
    found = agent.header_values("authorization")
    return {value for value in found if value.startswith("Bearer ")}


async def ping(server, options=None, **credentials):
    """Call an agent with credentials for the authorization server that its card names."""
    auth = ClientCredentials("agent", SECRET, **credentials)
    async with running(server) as url, RemoteAgent(url, auth=auth, options=options) as agent:
        return await agent.send("ping")


@KINDS
async def test_an_endpoint_at_the_origin_of_the_agent(kind):
    server = Agent(kind)
    auth = ClientCredentials("agent", SECRET)
    async with running(server) as url, RemoteAgent(url, auth=auth) as agent:
        for _ in range(2):
            assert (await agent.send("ping")).text
    [form] = server.login.forms
    assert form["scope"] == "read"
    [token] = sent_tokens(server)
    assert server.login.verified(token.removeprefix("Bearer "))["scope"] == "read"


@KINDS
async def test_a_hostile_card_gets_no_secret(kind, login, caplog):
    server = Agent(kind, login)  # another port, which may be someone else's
    with pytest.raises(RemoteAuthError, match=r"not at the agent's origin.*token_url"):
        await ping(server, ONCE)
    assert not login.forms
    assert not server.messages
    assert SECRET not in caplog.text


@KINDS
async def test_trusted_hosts_may_get_secrets(kind, login):
    server = Agent(kind, login)
    options = RemoteOptions(trusted_hosts=[login.url.removeprefix("http://")])
    assert (await ping(server, options)).text
    assert len(login.forms) == 1


async def test_a_card_cannot_choose_scopes_at_a_server_that_the_user_names(login):
    server = Agent(oauth, login)
    await ping(server, token_url=f"{login.url}/token")
    assert "scope" not in login.forms[0]


@pytest.mark.parametrize("url", ["http://login.example", "ftp://login.example", "https://", "a b"])
async def test_an_endpoint_without_encryption_is_refused(url):
    server = Agent(lambda _: oauth(url))
    with pytest.raises(RemoteAgentError, match="not https"):
        await ping(server, ONCE)
    assert not server.messages


async def test_metadata_in_a_private_network_is_not_fetched():
    server = Agent(lambda _: openid("https://10.1.2.3"))
    with pytest.raises(RemoteAgentError, match="10"):
        await ping(server, ONCE)


async def test_a_card_without_the_grant():
    def device(url):
        flow = DeviceCodeOAuthFlow(token_url=f"{url}/token", device_authorization_url=f"{url}/d")
        scheme = OAuth2SecurityScheme(flows=OAuthFlows(device_code=flow))
        return SecurityScheme(oauth2_security_scheme=scheme)

    with pytest.raises(RemoteAuthError, match="no client credentials"):
        await ping(Agent(device))


async def test_agents_that_share_credentials_do_not_share_tokens_of_their_cards():
    servers = [Agent(oauth), Agent(oauth)]
    auth = ClientCredentials("agent", SECRET)
    async with (
        running(servers[0]) as one,
        running(servers[1]) as two,
        RemoteAgent(one, auth=auth) as first,
        RemoteAgent(two, auth=auth) as second,
    ):
        await asyncio.gather(*(agent.send("ping") for agent in (first, second) * 5))
    assert [len(server.login.forms) for server in servers] == [1, 1]
    assert not sent_tokens(servers[0]) & sent_tokens(servers[1])


async def test_an_open_agent_gets_no_token(login):
    server = Recording(sdk_app(chunking()))
    await ping(server)
    assert not sent_tokens(server)
