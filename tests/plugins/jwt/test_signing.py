"""Signed cards, verified by a2a-sdk."""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import replace

import httpx
import pytest
from a2a.client import A2ACardResolver
from a2a.types import AgentCard
from a2a.utils.signing import InvalidSignaturesError, create_signature_verifier
from a2a_adapters_jwt import card_signer
from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from google.protobuf.json_format import ParseDict
from jwt.algorithms import get_default_algorithms
from jwt.utils import base64url_decode
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

from a2a_adapters import (
    BearerTokens,
    CardSignatureError,
    ConfigurationError,
    MissingExtraError,
    OutboundPolicy,
    PushOptions,
    RemoteAgent,
    RemoteOptions,
    ServerOptions,
    build_app,
)
from a2a_adapters.testing import running

URL = "https://agents.example.org"
KEYS = {
    "ES256": lambda: ec.generate_private_key(ec.SECP256R1()),
    "ES384": lambda: ec.generate_private_key(ec.SECP384R1()),
    "EdDSA": ed25519.Ed25519PrivateKey.generate,
    "RS256": lambda: rsa.generate_private_key(65537, 2048),
}


def pem(key):
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def public_pem(key):
    return key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


async def echo(text):
    """Say it again, with ümlauts."""
    return text


async def card_of(key, verify, **options):
    options = ServerOptions(card_signer=card_signer(pem(key)), **options)
    async with (
        running(build_app(echo, url=URL, options=options)) as url,
        httpx.AsyncClient(timeout=60) as http,
    ):
        return await A2ACardResolver(http, url).get_agent_card(signature_verifier=verify)


@pytest.mark.parametrize("algorithm", KEYS)
async def test_signed_cards_are_verified_by_the_official_client(algorithm):
    key, asked = KEYS[algorithm](), []

    def provide(key_id, jwks_url):
        asked.append((key_id, jwks_url))
        return public_pem(key)

    verify = create_signature_verifier(provide, [algorithm])
    card = await card_of(key, verify, push=PushOptions())
    assert card.supported_interfaces[0].url == f"{URL}/"
    ((key_id, jwks_url),) = asked
    assert len(base64url_decode(key_id)) == 32, "the thumbprint of RFC 7638"
    assert jwks_url is None


async def test_a_changed_card_or_another_key_is_noticed():
    key = KEYS["ES256"]()
    verify = create_signature_verifier(lambda *_: public_pem(key), ["ES256"])
    card = await card_of(key, verify)
    card.description += " And more."
    with pytest.raises(InvalidSignaturesError):
        verify(card)
    other = create_signature_verifier(lambda *_: public_pem(KEYS["ES256"]()), ["ES256"])
    with pytest.raises(InvalidSignaturesError):
        await card_of(key, other)


async def test_the_key_can_be_named():
    key, asked = KEYS["ES256"](), []
    signer = card_signer(pem(key), key_id="mine", jwks_url="https://example.org/jwks.json")
    app = build_app(echo, url=URL, options=ServerOptions(card_signer=signer))
    verify = create_signature_verifier(
        lambda *about: asked.append(about) or public_pem(key), ["ES256"]
    )
    async with running(app) as url, httpx.AsyncClient(timeout=60) as http:
        await A2ACardResolver(http, url).get_agent_card(signature_verifier=verify)
    assert asked == [("mine", "https://example.org/jwks.json")]


def test_thumbprints_are_those_of_the_standard():
    """RFC 8037, appendix A.3."""
    from a2a_adapters_jwt.signing import _identify

    seed = base64url_decode("nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A")
    key = ed25519.Ed25519PrivateKey.from_private_bytes(seed)
    assert _identify(pem(key)) == ("EdDSA", "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k")


def test_a_card_for_any_host_is_not_signed():
    signer = card_signer(pem(KEYS["ES256"]()))
    with pytest.raises(ConfigurationError, match="--url"):
        build_app(echo, options=ServerOptions(card_signer=signer))


@pytest.mark.parametrize(
    "key",
    [
        b"no key",
        b"",
        public_pem(KEYS["ES256"]()),
        pem(ec.generate_private_key(ec.SECP192R1())),
        pem(dsa.generate_private_key(1024)),
    ],
    ids=["no key", "nothing", "a public key", "a weak curve", "an old kind"],
)
def test_unfit_keys_are_refused(key):
    with pytest.raises(ConfigurationError, match="the card's key is no"):
        card_signer(key)


async def test_every_card_of_a_server_is_signed():
    key = KEYS["ES256"]()
    verify = create_signature_verifier(lambda *_: public_pem(key), ["ES256"])
    token = "t" * 32
    options = ServerOptions(
        card_signer=card_signer(pem(key)),
        authentication=BearerTokens({token: "ann"}),
        extended_description=lambda about, user: replace(about, description=f"For {user}."),
    )
    app = build_app({"one": echo, "two": echo}, url=URL, options=options)
    headers = {"Authorization": f"Bearer {token}", "A2A-Version": "1.0"}
    async with running(app) as url, httpx.AsyncClient(headers=headers, timeout=60) as http:
        for name in ("one", "two"):
            resolver = A2ACardResolver(http, f"{url}/agents/{name}")
            card = await resolver.get_agent_card(signature_verifier=verify)
            assert card.supported_interfaces[0].url == f"{URL}/agents/{name}/"
        content = {"jsonrpc": "2.0", "id": 1, "method": "GetExtendedAgentCard", "params": {}}
        answer = (await http.post(f"{url}/agents/one/", json=content)).json()
    extended = ParseDict(answer["result"], AgentCard())
    assert extended.description == "For ann."
    verify(extended)


@pytest.mark.parametrize("module", ["a2a.utils.signing", "jwt.algorithms"])
def test_signing_needs_its_extra(module, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=r"a2a-adapters\[signing\]"):
        card_signer(pem(KEYS["ES256"]()))


def jwk_of(key):
    made = json.loads(get_default_algorithms()["ES256"].to_jwk(key.public_key()))
    return made | {"kid": "k", "alg": "ES256"}


async def test_agents_are_called_if_a_trusted_key_signed_their_card():
    key, other = KEYS["ES256"](), KEYS["EdDSA"]()
    options = ServerOptions(card_signer=card_signer(pem(key)))
    async with running(build_app(lambda text: text, url=URL, options=options)) as url:

        async def card(keys):
            async with RemoteAgent(url, options=RemoteOptions(trusted_keys=keys)) as agent:
                return await agent.card()

        trusted = [public_pem(other).decode(), public_pem(key).decode()]
        for keys in (trusted, {"keys": [jwk_of(key)]}, [jwk_of(key)]):
            assert (await card(keys)).signatures
        for keys in (trusted[:1], [jwk_of(KEYS["ES256"]())]):
            with pytest.raises(CardSignatureError, match="is by a trusted key"):
                await card(keys)
        with pytest.raises(ConfigurationError, match="not a JSON Web Key"):
            await card([{"kty": "none"}])
    async with running(build_app(lambda text: text)) as url:
        with pytest.raises(CardSignatureError, match="is not signed"):
            await card(trusted)


async def test_trusted_keys_at_a_url_are_fetched_once():
    key, fetched = KEYS["ES256"](), []
    answers = {"/keys": {"keys": [jwk_of(KEYS["ES256"]()), jwk_of(key)]}, "/odd": [1]}

    async def keys(request):
        fetched.append(request.url.path)
        found = answers.get(request.url.path)
        return JSONResponse(found, 404 if found is None else 200)

    options = ServerOptions(card_signer=card_signer(pem(key)))
    async with (
        running(build_app(lambda text: text, url=URL, options=options)) as url,
        running(Starlette(routes=[Route("/{path:path}", keys)])) as keys_url,
    ):
        own = RemoteOptions(
            trusted_keys=f"{keys_url}/keys", outbound=OutboundPolicy(allow_private=True)
        )
        async with RemoteAgent(url, options=own) as agent:
            assert (await agent.card()).signatures
            await agent.card()
            await asyncio.to_thread(asyncio.run, agent.card())
        assert fetched == ["/keys"]
        for place, fault in (("missing", "HTTP 404"), ("odd", "no trusted keys")):
            faulty = replace(own, trusted_keys=[f"{keys_url}/{place}"])
            async with RemoteAgent(url, options=faulty) as agent:
                with pytest.raises(CardSignatureError, match=fault):
                    await agent.send("hi")
        assert fetched == ["/keys", "/missing", "/odd"]

        async def resolve(host, port):
            return ["10.1.2.3"]

        guarded = replace(
            own,
            trusted_keys="https://keys.example/jwks",
            outbound=OutboundPolicy(resolver=resolve),
            retries=0,
        )
        async with RemoteAgent(url, options=guarded) as agent:
            with pytest.raises(CardSignatureError, match=r"private address 10\.1\.2\.3"):
                await agent.send("hi")


async def test_a_given_card_is_verified_too():
    key = KEYS["ES256"]()
    options = ServerOptions(card_signer=card_signer(pem(key)))
    async with (
        running(build_app(lambda text: text, url=URL, options=options)) as url,
        RemoteAgent(url) as agent,
    ):
        card = await agent.card()
    for signer, is_trusted in ((key, True), (KEYS["ES256"](), False)):
        trusting = RemoteOptions(trusted_keys=public_pem(signer).decode())
        async with RemoteAgent(card, options=trusting) as agent:
            if is_trusted:
                assert await agent.card() == card
            else:
                with pytest.raises(CardSignatureError, match="is by a trusted key"):
                    await agent.card()


@pytest.mark.parametrize(
    "keys", ["", "key.pem", "http://keys.example/jwks", "https://", [], {}, 7, [b"x"], ["nothing"]]
)
def test_trusted_keys_of_another_form_are_refused_at_once(keys):
    with pytest.raises(ConfigurationError, match="trusted_keys"):
        RemoteOptions(trusted_keys=keys)


async def test_a_changed_card_is_not_trusted():
    key = KEYS["ES256"]()
    options = ServerOptions(card_signer=card_signer(pem(key)))
    app = build_app(lambda text: text, url=URL, options=options)

    async def changed(scope, receive, send):
        async def forward(message):
            if message["type"] == "http.response.body" and message.get("body"):
                body = message["body"].replace(b"example.org", b"example.net")
                message = {**message, "body": body}
            await send(message)

        await app(scope, receive, forward)

    remote = RemoteOptions(trusted_keys=[public_pem(key).decode()])
    async with running(changed) as url, RemoteAgent(url, options=remote) as agent:
        with pytest.raises(CardSignatureError):
            await agent.send("hi")
