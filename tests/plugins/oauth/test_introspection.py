"""Opaque tokens of callers, checked by a small authorization server."""

from __future__ import annotations

import base64
import time
from contextlib import suppress

import pytest
from a2a_adapters_oauth import GoogleAccessTokens, TokenIntrospection
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

from a2a_adapters import (
    ConfigurationError,
    ForbiddenError,
    RemoteConnectionError,
    UnauthenticatedError,
)
from a2a_adapters.testing import running


class Server:
    """Knows some tokens, and counts how often it is asked."""

    def __init__(self):
        self.tokens = {"opaque": {"sub": "ann", "scope": "chat other", "aud": ["agent", "x"]}}
        self.asked = 0
        self.app = Starlette(
            routes=[
                Route("/introspect", self.introspect, methods=["POST"]),
                Route("/tokeninfo", self.tokeninfo, methods=["POST"]),
            ]
        )

    async def introspect(self, request):
        self.asked += 1
        scheme, _, pair = request.headers.get("authorization", "").partition(" ")
        if scheme != "Basic" or base64.b64decode(pair) != b"me:secret":
            return JSONResponse({"error": "invalid_client"}, 401)
        async with request.form() as form:
            assert form["token_type_hint"] == "access_token"
            known = self.tokens.get(form["token"])
        return JSONResponse({"active": known is not None, **(known or {"sub": "root"})})

    async def tokeninfo(self, request):
        self.asked += 1
        async with request.form() as form:
            known = self.tokens.get(form["access_token"])
        if known is None:
            return JSONResponse({"error": "invalid_token", "error_description": "Invalid"}, 400)
        return JSONResponse(known)


@pytest.fixture
async def server():
    source = Server()
    async with running(source.app) as source.url:
        yield source


def asking(server, secret="secret", **options):
    url = f"{server.url}/introspect"
    return TokenIntrospection(url, client_id="me", client_secret=secret, **options)


def bearer(token):
    return {"authorization": f"Bearer {token}"}


async def test_an_active_token_names_its_user(server):
    tokens = asking(server, audience="agent", scopes=["chat"])
    for _ in range(3):
        caller = await tokens.identify(bearer("opaque"))
        assert (caller.owner, caller.scopes) == ("ann", {"chat", "other"})
    assert server.asked == 1, "the answer is kept"
    assert tokens.security_schemes()["token"].http_auth_security_scheme.scheme == "Bearer"


async def test_other_tokens_are_refused_and_remembered(server):
    tokens = asking(server)
    for _ in range(2):
        with pytest.raises(UnauthenticatedError, match="not active"):
            await tokens.authenticate(bearer("unknown"))
    assert server.asked == 1
    with pytest.raises(UnauthenticatedError):
        await tokens.authenticate({})
    with pytest.raises(ForbiddenError):
        await asking(server, scopes=["admin"]).authenticate(bearer("opaque"))
    with pytest.raises(UnauthenticatedError):
        await asking(server, audience="other").authenticate(bearer("opaque"))
    server.tokens["old"] = {"sub": "ann", "exp": 1}
    with pytest.raises(UnauthenticatedError):
        await tokens.authenticate(bearer("old"))


async def test_an_answer_counts_no_longer_than_the_token(server):
    server.tokens["short"] = {"sub": "ann", "exp": time.time() + 0.3}
    tokens = asking(server)
    assert await tokens.authenticate(bearer("short")) == "ann"
    server.tokens["short"]["exp"] = 1
    asked = server.asked
    while server.asked == asked:
        with suppress(UnauthenticatedError):
            await tokens.authenticate(bearer("short"))
    revoked = asking(server, cache_seconds=0)
    assert await revoked.authenticate(bearer("opaque")) == "ann"
    del server.tokens["opaque"]
    with pytest.raises(UnauthenticatedError):
        await revoked.authenticate(bearer("opaque"))


async def test_a_server_that_does_not_answer_is_no_refusal(server):
    with pytest.raises(Exception, match="invalid_client"):
        await asking(server, secret="wrong").authenticate(bearer("opaque"))
    absent = TokenIntrospection("http://127.0.0.1:9/x", client_id="me", client_secret="s")
    with pytest.raises(RemoteConnectionError):
        await absent.authenticate(bearer("opaque"))


async def test_access_tokens_of_google(server):
    server.tokens["ya29.a"] = {"aud": "client", "sub": "11", "email": "ann@x", "exp": "99999999999"}
    url = f"{server.url}/tokeninfo"
    tokens = GoogleAccessTokens("client", user_claim="email", url=url)
    assert await tokens.authenticate(bearer("ya29.a")) == "ann@x"
    with pytest.raises(UnauthenticatedError):
        await tokens.authenticate(bearer("ya29.b"))
    with pytest.raises(UnauthenticatedError):
        await GoogleAccessTokens("other", url=url).authenticate(bearer("ya29.a"))


def test_tokens_are_never_sent_in_plain_text():
    with pytest.raises(ConfigurationError, match="https only"):
        TokenIntrospection("http://login.example/x", client_id="me", client_secret="s")
