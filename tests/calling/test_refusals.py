"""Errors for refusals name the reason and the accepted credentials."""

from __future__ import annotations

import pytest
from a2a.types import (
    AgentCard,
    APIKeySecurityScheme,
    HTTPAuthSecurityScheme,
    MutualTlsSecurityScheme,
    OAuth2SecurityScheme,
    OpenIdConnectSecurityScheme,
    SecurityRequirement,
    SecurityScheme,
    StringList,
)
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

from a2a_adapters import (
    AnyOf,
    ApiKeys,
    BearerAuth,
    BearerTokens,
    RemoteAgent,
    RemoteAnswerError,
    RemoteAuthError,
    RemoteOptions,
    ServerOptions,
    build_app,
)
from a2a_adapters.testing import running
from tests.support.requests import Agent
from tests.support.servers.cards import only

ONCE = RemoteOptions(retries=0, timeout=60)
BEARER = SecurityScheme(http_auth_security_scheme=HTTPAuthSecurityScheme(scheme="Bearer"))
KEY = SecurityScheme(api_key_security_scheme=APIKeySecurityScheme(location="query", name="k\n"))
OAUTH = SecurityScheme(oauth2_security_scheme=OAuth2SecurityScheme())
OPEN_ID = SecurityScheme(
    open_id_connect_security_scheme=OpenIdConnectSecurityScheme(
        open_id_connect_url="https://login.example"
    )
)
MTLS = SecurityScheme(mtls_security_scheme=MutualTlsSecurityScheme())


def refusing(status, body, **headers):
    """Return a server that answers every request in this way."""

    async def answer(_request):
        return Response(body, status, headers)

    return Starlette(routes=[Route("/{path:path}", answer, methods=["GET", "POST"])])


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ('{"error": {"code": 400, "message": "name a\\nmodel"}}', "card: name a model$"),
        ('{"error": "no tenant"}', "card: no tenant$"),
        ('{"detail": "no tenant"}', "card: no tenant$"),
        ('{"message": "no tenant"}', "card: no tenant$"),
        ("no tenant", "card: no tenant$"),
        ("x" * 100_000, "card: x{199}…$"),
        ("<html>no tenant</html>", "card$"),
        ('{"error": {"code": 1}}', "card$"),
        ("[]", "card$"),
        ("", "card$"),
        (b"\xff\xfe", "card"),
    ],
)
async def test_a_server_that_answers_an_error_in_place_of_a_card_is_quoted(body, shown):
    async with running(refusing(400, body)) as url, RemoteAgent(url, options=ONCE) as agent:
        with pytest.raises(RemoteAnswerError, match=f"HTTP 400 instead of a {shown}"):
            await agent.card()


async def test_a_card_that_requires_credentials_reports_the_challenge():
    challenge = {"WWW-Authenticate": 'Bearer realm="agents"'}
    app = refusing(401, "", **challenge)
    async with running(app) as url, RemoteAgent(url, options=ONCE) as agent:
        with pytest.raises(RemoteAuthError, match=r'HTTP 401\): Bearer realm="agents"'):
            await agent.card()


@pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON", "GRPC"])
@pytest.mark.parametrize("version", ["1.0", "0.3"])
async def test_the_credentials_that_the_card_requires_are_named(binding, version):
    either = AnyOf(BearerTokens({"right": "ann"}), ApiKeys({"key": "bob"}))
    app = build_app(Agent(), options=ServerOptions(grpc_port=0, authentication=either))
    wanted = "asks for Bearer credentials in the header Authorization or an API key in the header"
    async with running(app) as url:
        card = only(await RemoteAgent(url).card(), binding, version)
        for auth in (None, BearerAuth("wrong")):
            async with RemoteAgent(card, auth=auth, options=ONCE) as agent:
                for call in (agent.send, agent.get_task, agent.cancel):
                    with pytest.raises(RemoteAuthError, match=wanted):
                        await call("hello")


@pytest.mark.parametrize(
    ("schemes", "requirements", "shown"),
    [
        ({"a": BEARER}, [], "asks for Bearer credentials in the header Authorization$"),
        ({"a": BEARER, "b": KEY}, [["b"]], "asks for an API key in the query k$"),
        ({"a": OAUTH, "b": MTLS}, [["a", "b"]], r"OAuth 2.0 and a client certificate \(mutual"),
        ({"a": OPEN_ID}, [["a"]], r"OpenID Connect \(https://login.example\)$"),
        ({"a": SecurityScheme()}, [["a"]], "credentials it does not describe$"),
        ({}, [], r"\(HTTP 401\)$"),
        ({}, [["unknown"]], r"\(HTTP 401\)$"),
        ({"a": BEARER}, [[]], r"\(HTTP 401\)$"),
    ],
)
async def test_schemes_in_words(schemes, requirements, shown):
    async with running(refusing(401, "{}")) as url:
        card = AgentCard(
            name="agent",
            security_schemes=schemes,
            security_requirements=[
                SecurityRequirement(schemes={name: StringList() for name in names})
                for names in requirements
            ],
        )
        card.supported_interfaces.add(url=url, protocol_binding="JSONRPC", protocol_version="1.0")
        async with RemoteAgent(card, options=ONCE) as agent:
            with pytest.raises(RemoteAuthError, match=shown):
                await agent.send("hello")
