"""JSON Web Tokens, checked against the keys of a small identity provider."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from contextlib import suppress

import httpx
import jwt
import pytest
from a2a_adapters_jwt import JwtTokens
from a2a_adapters_jwt import keys as key_sets
from a2a_adapters_jwt import tokens as authenticator
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

from a2a_adapters import (
    AgentRequest,
    AnyOf,
    ApiKeys,
    ConfigurationError,
    ForbiddenError,
    MissingExtraError,
    ServerOptions,
    UnauthenticatedError,
    build_app,
)
from a2a_adapters.testing import running

V1 = {"A2A-Version": "1.0"}
MESSAGE = {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "hello"}]}
SEND = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": MESSAGE}}
ISSUER, AUDIENCE = "https://login.example.org", "https://agent.example.org"
RSA_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
EC_KEY = ec.generate_private_key(ec.SECP256R1())


class Provider:
    """Publishes public keys, and counts how often it is asked."""

    def __init__(self):
        self.keys = {"one": RSA_KEY}
        self.asked = 0
        self.is_up = True
        self.padding = ""
        self.may_answer = asyncio.Event()
        self.may_answer.set()
        self._news = asyncio.Condition()
        self.app = Starlette(routes=[Route("/keys", self.publish)])

    async def publish(self, request):
        async with self._news:
            self.asked += 1
            self._news.notify_all()
        await self.may_answer.wait()
        if not self.is_up:
            return JSONResponse({}, status_code=500)
        return JSONResponse(
            {"keys": [public(*item) for item in self.keys.items()]} | {"x": self.padding}
        )

    async def has_been_asked(self, times):
        """Wait until it has been asked so often."""
        async with self._news:
            await self._news.wait_for(lambda: self.asked == times)


def public(key_id, key):
    algorithm = jwt.get_algorithm_by_name(
        "RS256" if isinstance(key, rsa.RSAPrivateKey) else "ES256"
    )
    return json.loads(algorithm.to_jwk(key.public_key())) | {"kid": key_id, "use": "sig"}


def token(key=RSA_KEY, key_id="one", algorithm="RS256", **claims):
    content = {"sub": "ann", "iss": ISSUER, "aud": AUDIENCE, "exp": time.time() + 60} | claims
    content = {name: value for name, value in content.items() if value is not None}
    headers = {"kid": key_id} if key_id else {}
    return jwt.encode(content, key, algorithm, headers)


@pytest.fixture
async def provider():
    source = Provider()
    async with running(source.app) as source.url:
        yield source


@pytest.fixture
async def ask(provider):
    """Return a function that calls an agent with a token."""

    async def whoami(request: AgentRequest) -> str:
        return request.owner

    tokens = JwtTokens(f"{provider.url}/keys", issuer=ISSUER, audience=AUDIENCE, scopes=["chat"])
    app = build_app(whoami, options=ServerOptions(authentication=tokens))
    async with (
        running(app) as url,
        httpx.AsyncClient(base_url=url, headers=V1, timeout=60) as http,
    ):

        async def call(content):
            headers = {"Authorization": f"Bearer {content}"}
            return await http.post("/", json=SEND, headers=headers)

        yield call


def owner_of(response):
    return response.json()["result"]["task"]["artifacts"][0]["parts"][0]["text"]


async def test_the_subject_is_the_user(ask, provider):
    for _ in range(3):
        assert owner_of(await ask(token(scope="chat other"))) == "ann"
    assert owner_of(await ask(token(sub="bob", scp=["chat"], aud=["x", AUDIENCE]))) == "bob"
    assert provider.asked == 1, "the keys are kept"


WRONG = [
    ({"exp": 1}, "the token has expired"),
    ({"exp": None}, "the token is not valid here"),
    ({"nbf": 99_999_999_999}, "the token is not valid here"),
    ({"iss": "https://evil.example.org"}, "the token is not valid here"),
    ({"iss": None}, "the token is not valid here"),
    ({"aud": "https://other.example.org"}, "the token is not valid here"),
    ({"aud": None}, "the token is not valid here"),
    ({"sub": None}, "the token is not valid here"),
    ({"sub": ""}, "the token does not name its user"),
    ({"key": rsa.generate_private_key(public_exponent=65537, key_size=2048)}, "not valid"),
    ({"key": EC_KEY, "algorithm": "ES256"}, "not valid"),
    ({"algorithm": "RS512"}, "not valid"),
    ({"key_id": "unknown"}, "unknown key"),
    ({"key": "x" * 32, "algorithm": "HS256"}, "not valid"),
    ({"key": None, "algorithm": "none"}, "not valid"),
]


async def test_an_agent_learns_the_claims_scopes_and_tenant_of_a_token(provider):
    tokens = JwtTokens(f"{provider.url}/keys", issuer=ISSUER, audience=AUDIENCE, tenant_claim="org")

    async def known(content):
        return await tokens.identify({"authorization": f"Bearer {content}"})

    caller = await known(token(scope="chat book", org="acme", email="ann@example.org"))
    assert caller.owner == "ann"
    assert caller.scopes == {"chat", "book"}
    assert caller.tenant == "acme"
    assert caller.claims["email"] == "ann@example.org"
    assert "example.org" not in repr(caller)
    assert "chat" not in repr(caller)
    assert (await known(token())).tenant == ""
    with pytest.raises(UnauthenticatedError, match="tenant"):
        await known(token(org=["acme"]))
    same = token(roles={"admin": []})
    (await known(same)).claims["roles"]["admin"].append("ann")
    assert (await known(same)).claims["roles"] == {"admin": []}
    with pytest.raises(UnauthenticatedError, match="expired"):
        await known(token(exp=time.time() - 60))


async def test_other_tokens_are_refused(ask):
    for claims, problem in WRONG:
        response = await ask(token(**({"scope": "chat"} | claims)))
        assert response.status_code == 401, claims
        assert response.headers["www-authenticate"] == 'Bearer error="invalid_token"'
        assert problem in response.json()["error"]["message"], claims
    good = token(scope="chat")
    assert (await ask(good)).status_code == 200
    unsigned = f"{good.rpartition('.')[0]}.SIGNATURE_REMOVED_BY_GOOGLE"  # as Cloud Run sends it
    for content in ("x", "x.y.z", "..", "e30.e30.e30", unsigned):
        assert (await ask(content)).status_code == 401


async def test_a_token_that_was_good_expires_all_the_same(ask, monkeypatch):
    content = token(scope="chat")
    assert (await ask(content)).status_code == 200
    monkeypatch.setattr(authenticator, "_LEEWAY_SECONDS", -100)
    assert "has expired" in (await ask(content)).json()["error"]["message"]


async def test_the_number_of_remembered_tokens_is_limited(ask, monkeypatch):
    monkeypatch.setattr(authenticator, "_KNOWN_TOKENS", 1)
    tokens = [token(sub=user, scope="chat") for user in ("ann", "bob")]
    for _ in range(2):
        assert [owner_of(await ask(content)) for content in tokens] == ["ann", "bob"]


async def test_a_missing_scope_is_forbidden(ask):
    response = await ask(token(scope="other"))
    assert response.status_code == 403
    assert response.headers["www-authenticate"] == 'Bearer error="insufficient_scope", scope="chat"'
    assert response.json()["error"]["message"] == "the token lacks the scope chat"


async def test_keys_are_rotated(ask, provider, monkeypatch):
    assert (await ask(token(scope="chat"))).status_code == 200
    provider.keys = {"two": EC_KEY}
    new = token(EC_KEY, "two", "ES256", scope="chat")
    assert (await ask(new)).status_code == 401, "a made-up key does not make us ask each time"
    assert provider.asked == 1
    monkeypatch.setattr(key_sets, "_PAUSE_SECONDS", -1)
    assert (await ask(new)).status_code == 200
    assert (await ask(token(scope="chat"))).status_code == 401, "the old key is gone"


async def test_cached_keys_are_accepted_while_the_provider_is_down(ask, provider, monkeypatch):
    provider.is_up = False
    down = await ask(token(scope="chat"))
    assert down.status_code == 503
    assert provider.url not in down.text
    monkeypatch.setattr(key_sets, "_FIRST_PAUSE_SECONDS", -1)
    provider.is_up = True
    assert (await ask(token(scope="chat"))).status_code == 200
    provider.is_up = False
    monkeypatch.setattr(key_sets, "_FRESH_SECONDS", -1)
    monkeypatch.setattr(key_sets, "_PAUSE_SECONDS", -1)
    assert (await ask(token(scope="chat"))).status_code == 200
    await provider.has_been_asked(3)


async def test_cached_keys_are_accepted_while_the_provider_is_slow(ask, provider, monkeypatch):
    assert (await ask(token(scope="chat"))).status_code == 200
    monkeypatch.setattr(key_sets, "_FRESH_SECONDS", -1)
    monkeypatch.setattr(key_sets, "_PAUSE_SECONDS", -1)
    provider.may_answer.clear()
    for user in ("ann", "bob"):
        assert owner_of(await ask(token(sub=user, scope="chat"))) == user
    await provider.has_been_asked(2)
    monkeypatch.setattr(key_sets, "_STALE_SECONDS", -1)
    monkeypatch.setattr(key_sets, "_TIMEOUT_SECONDS", 0.01)
    monkeypatch.setattr(key_sets, "_FIRST_PAUSE_SECONDS", -1)
    provider.may_answer.set()
    provider.padding = "x" * key_sets._MOST_BYTES
    assert (await ask(token(scope="chat"))).status_code == 503, "keys are not good for ever"


async def test_a_provider_that_never_ends_its_answer_is_given_up(ask, provider, monkeypatch):
    monkeypatch.setattr(key_sets, "_TIMEOUT_SECONDS", 0.05)
    provider.may_answer.clear()
    assert (await ask(token(scope="chat"))).status_code == 503
    provider.may_answer.set()


async def test_a_token_that_a_front_has_put_into_another_header(provider):
    assertion = "X-Goog-IAP-JWT-Assertion"
    urls = {"jwks_url": f"{provider.url}/keys", "issuer": ISSUER, "audience": AUDIENCE}
    tokens = JwtTokens(**urls, header=assertion)
    assert tokens.security_schemes() == {}
    caller = await tokens.identify({assertion.lower(): token(scope="chat")})
    assert (caller.owner, caller.scopes) == ("ann", {"chat"})
    for headers in ({}, {"authorization": f"Bearer {token()}"}):
        with pytest.raises(UnauthenticatedError, match=f"no token in {assertion}"):
            await tokens.identify(headers)
    with pytest.raises(UnauthenticatedError):
        await tokens.identify({assertion.lower(): token(aud="other")})


async def test_keys_are_fetched_again_after_an_event_loop_was_closed_meanwhile(provider):
    urls = {"jwks_url": f"{provider.url}/keys", "issuer": ISSUER, "audience": AUDIENCE}
    tokens, headers = JwtTokens(**urls), {"authorization": f"Bearer {token()}"}

    async def give_up():
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(tokens.authenticate(headers), 0.01)

    def elsewhere():
        loop = asyncio.new_event_loop()
        loop.run_until_complete(give_up())
        loop.close()

    provider.may_answer.clear()
    await asyncio.to_thread(elsewhere)
    provider.may_answer.set()
    user = None
    while user is None:  # it waits a second between two attempts
        with suppress(ConnectionError):
            user = await tokens.authenticate(headers)
    assert user == "ann"


async def test_an_unavailable_provider_affects_only_its_own_users(provider):
    def tokens(path, issuer):
        return JwtTokens(f"{provider.url}{path}", issuer=issuer, audience=AUDIENCE, scopes=["chat"])

    either = AnyOf(
        tokens("/absent", "https://absent.example"), tokens("/keys", ISSUER), ApiKeys({"k": "job"})
    )

    async def user(key="", **claims):
        headers = {"authorization": f"Bearer {token(**claims)}"} | (
            {"x-api-key": key} if key else {}
        )
        return await either.authenticate(headers)

    assert await user(scope="chat") == "ann"
    absent = {"iss": "https://absent.example", "scope": "chat"}
    with pytest.raises(ConnectionError):
        await user(**absent)
    assert await user("k", **absent) == "job"
    assert await user("k", iss="https://foreign.example") == "job"
    assert await user("k", scope="other") == "job"
    with pytest.raises(ForbiddenError):
        await user(scope="other")


async def test_a_token_without_the_name_of_its_key(ask, provider):
    assert (await ask(token(key_id=None, scope="chat"))).status_code == 200


@pytest.mark.parametrize(
    "arguments",
    [
        {"jwks_url": "http://login.example.org/keys"},
        {"issuer": ""},
        {"audience": ""},
        {"algorithms": ["none"]},
        {"algorithms": ["HS256"]},
        {"algorithms": []},
        {"algorithms": "RS256"},
    ],
)
def test_unsafe_options_are_refused_immediately(arguments):
    safe = {"jwks_url": "https://x.example/keys", "issuer": ISSUER, "audience": AUDIENCE}
    assert JwtTokens(**safe).security_schemes()["jwt"].http_auth_security_scheme
    with pytest.raises(ConfigurationError):
        JwtTokens(**(safe | arguments))


def test_the_extra_is_named(monkeypatch):
    monkeypatch.delitem(sys.modules, "a2a_adapters_jwt.keys")
    monkeypatch.setitem(sys.modules, "jwt", None)
    with pytest.raises(MissingExtraError, match=r"a2a-adapters\[jwt\]"):
        JwtTokens("https://x.example/keys", issuer=ISSUER, audience=AUDIENCE)
