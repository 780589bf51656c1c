"""The user claims that an AWS load balancer signs."""

from __future__ import annotations

import json
import sys
import time
from base64 import urlsafe_b64encode

import jwt
import pytest
from a2a_adapters_jwt import AlbTokens
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from a2a_adapters import ConfigurationError, MissingExtraError, UnauthenticatedError
from a2a_adapters.testing import running

ARN = "arn:aws:elasticloadbalancing:eu-west-1:123456789012:loadbalancer/app/agents/50dc6c495c0c9188"
KEY = ec.generate_private_key(ec.SECP256R1())
OTHER = ec.generate_private_key(ec.SECP256R1())


@pytest.fixture
async def tokens():
    """Return the authenticator, and the keys that were asked for."""
    asked = []

    async def publish(request):
        asked.append(request.path_params["key"])
        if asked[-1] != "one":
            return PlainTextResponse("", 403)
        pem = KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        return PlainTextResponse(pem)

    async with running(Starlette(routes=[Route("/{key}", publish)])) as url:
        yield AlbTokens(ARN, keys_url=f"{url}/"), asked


def token(key=KEY, signer=ARN, kid="one", **claims):
    """Return a token with padding, as load balancers make them."""
    content = {"sub": "ann", "email": "ann@example.org", "exp": time.time() + 60} | claims
    header = {"alg": "ES256", "typ": "JWT", "kid": kid, "signer": signer, "client": "x"}
    signed = b".".join(urlsafe_b64encode(json.dumps(each).encode()) for each in (header, content))
    signature = jwt.get_algorithm_by_name("ES256").sign(signed, key)
    return (signed + b"." + urlsafe_b64encode(signature)).decode()


async def identify(tokens, token):
    return await tokens.identify({"x-amzn-oidc-data": token})


async def test_the_load_balancer_names_the_user(tokens):
    balancer, asked = tokens
    for _ in range(2):
        caller = await identify(balancer, token())
        assert (caller.owner, caller.claims["email"]) == ("ann", "ann@example.org")
    assert asked == ["one"], "the key is kept"
    assert balancer.security_schemes() == {}


@pytest.mark.parametrize(
    "wrong",
    [
        {"key": OTHER},
        {"signer": ARN.replace("agents", "evil")},
        {"kid": "two"},
        {"kid": "../one"},
        {"exp": 1},
        {"sub": None},
    ],
    ids=["key", "signer", "no such key", "path", "expired", "no user"],
)
async def test_other_tokens_are_refused(tokens, wrong):
    with pytest.raises(UnauthenticatedError):
        await identify(tokens[0], token(**wrong))


@pytest.mark.parametrize("headers", [{}, {"x-amzn-oidc-data": "rubbish"}])
async def test_requests_without_a_token_are_refused(tokens, headers):
    with pytest.raises(UnauthenticatedError):
        await tokens[0].identify(headers)


async def test_unknown_keys_are_not_fetched_all_the_time(tokens):
    balancer, asked = tokens
    for number in range(3):
        with pytest.raises(UnauthenticatedError):
            await identify(balancer, token(kid=f"k{number}"))
    assert asked == ["k0"]


@pytest.mark.parametrize("name", ["", "my-balancer", ARN.replace("/app/", "/net/")])
def test_the_signer_is_a_load_balancer(name):
    with pytest.raises(ConfigurationError, match="not the ARN of an application load balancer"):
        AlbTokens(name)


def test_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "jwt", None)
    with pytest.raises(MissingExtraError, match=r"a2a-adapters\[jwt\]"):
        AlbTokens(ARN)
