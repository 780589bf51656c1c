"""Tokens for signed assertions."""

from __future__ import annotations

import asyncio
import sys
from contextvars import ContextVar

import pytest
from a2a_adapters_oauth import JwtBearer, SignedAssertion, SigningKey
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from joserfc.jwk import ECKey

from a2a_adapters import MissingExtraError, RemoteAgent, RemoteAuthError
from tests.plugins.oauth.authorization import CLIENT_KEY
from tests.plugins.oauth.conftest import said

KEY = SigningKey(CLIENT_KEY.as_pem(private=True), key_id="mine")


@pytest.mark.parametrize("name", ["token_url", "issuer"])
async def test_an_agent_signs_for_itself(login, front, name):
    server = {name: login.url if name == "issuer" else f"{login.url}/token"}
    auth = JwtBearer(SignedAssertion(KEY, "agent"), scopes=["read"], **server)
    async with RemoteAgent(front.url, auth=auth) as agent:
        for _ in range(2):
            answer = await agent.send("hi")
            assert answer.text == "agent through nobody to agent-b for read"
    assert len(login.forms) == 1


async def test_an_agent_signs_for_several_users_at_once(login, place):
    current = ContextVar("current")
    front = await place()
    signed = SignedAssertion(KEY, "agent", current.get)
    auth = JwtBearer(signed, token_url=f"{login.url}/token")
    users = [f"user-{number}" for number in range(10)]
    login.revoked.add("user-3")
    async with RemoteAgent(front.url, auth=auth) as agent:

        async def call(user):
            current.set(user)
            return (await agent.send("hi")).text.partition(" ")[0]

        answers = await asyncio.gather(*map(call, users * 2), return_exceptions=True)
    refused = [each for each in answers if isinstance(each, RemoteAuthError)]
    assert len(refused) == 2
    assert [each for each in answers if each not in refused] == [
        user for user in users * 2 if user != "user-3"
    ]


async def test_a_given_assertion(login, front):
    given = KEY.assertion("agent", login.url, "ann")
    auth = JwtBearer(lambda: given, token_url=f"{login.url}/token", audience="agent-b")
    assert (await said(front, auth)).startswith("ann through nobody to agent-b")


@pytest.mark.parametrize(
    "assertion",
    [
        "nonsense",
        KEY.assertion("agent", "https://login.other.example", "ann"),
        SignedAssertion(KEY, "stranger"),
        SignedAssertion(SigningKey(ECKey.generate_key("P-256").as_pem(private=True)), "agent"),
        SignedAssertion(KEY, "agent", lambda: ""),
        "",
    ],
    ids=["none", "other audience", "stranger", "other key", "no subject", "empty"],
)
async def test_a_bad_assertion_is_refused(login, front, assertion):
    auth = JwtBearer(assertion, token_url=f"{login.url}/token")
    with pytest.raises(RemoteAuthError):
        await said(front, auth)
    assert not front.messages


def test_an_rsa_key_signs_as_well():
    key = rsa.generate_private_key(65537, 2048)
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    assert SigningKey(pem).assertion("a", "b", "c").count(".") == 2


def test_signing_needs_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "authlib.oauth2.rfc7523", None)
    with pytest.raises(MissingExtraError, match=r"a2a-adapters\[oauth\]"):
        SigningKey(CLIENT_KEY.as_pem(private=True))
