"""`a2a-adapters card get` and references to agents."""

from __future__ import annotations

import json

import pytest
from a2a_adapters_jwt import card_signer
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from jwt.algorithms import ECAlgorithm
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

from a2a_adapters import NamedTarget, ServerOptions, build_app
from a2a_adapters.protocol.card import CARD_TYPE, CATALOG_PATH, WELL_KNOWN_PATHS
from a2a_adapters.testing import running

pytestmark = [pytest.mark.timeout(5 * 60), pytest.mark.asyncio(loop_scope="module")]


async def test_text_and_json(url, run, run_json):
    shown = (await run("card", "get", url)).stdout
    assert shown.startswith("Name: weather\nDescription: Report the weather.\n")
    assert "\nSignature: absent\n" in shown
    assert (await run_json("card", "get", "-a", url, "--validate"))["name"] == "weather"


async def test_a_card_file_can_be_called(url, run, tmp_path):
    card = (await run("card", "get", url, "-o", "json")).stdout
    (tmp_path / "card.json").write_text(card)
    for reference in ("card.json", f"file://{tmp_path}/card.json"):
        assert "It rains" in (await run("send", reference, "Rome")).stdout


async def test_an_agent_of_a_catalog(server, run):
    host = server.removeprefix("http://")
    assert "It rains" in (await run("send", f"{host}#weather", "Rome")).stdout
    unknown = await run("send", f"{host}#sun", "Rome")
    assert unknown.returncode == 3
    assert "it lists parts, weather" in unknown.stderr


async def test_a_host_with_several_agents_lists_them(server, run):
    for command in (["card", "get", server], ["send", server, "Rome"], ["chat", server]):
        done = await run(*command)
        assert done.returncode == 3
        first, how, *listed = done.stderr.splitlines()
        assert first == f"a2a-adapters: there are several agents at {server}"
        assert how == "hint: name one of them:", command
        assert listed == [
            f"  {server}#weather  Report the weather.",
            f"  {server}#parts  List the received parts.",
        ]
    assert (
        await run("chat", f"{server}#weather", text="Rome")
    ).stdout == "It rains in Rome\\x1b[2J.\n"
    assert "parts" in (await run("check", f"{server}#parts")).stdout


async def test_agents_with_ambiguous_names_are_listed_by_url(run):
    agents = {
        "one": NamedTarget(lambda text: text, name="The Same"),
        "two": NamedTarget(lambda text: text, name="The Same"),
        "odd": NamedTarget(lambda text: text, name="50% off"),
    }
    async with running(build_app(agents)) as url:
        output = (await run("card", "get", url)).stderr
        assert f"  {url}/agents/one  " in output
        assert f"  {url}/agents/two  " in output
        assert f"  '{url}#50%25 off'" in output
        assert "Name: 50% off" in (await run("card", "get", f"{url}#50%25 off")).stdout


async def test_urls_of_catalog_cards_are_sanitised(run):
    card = {"name": "x", "supportedInterfaces": [{"url": "http://x/\x1b]0;harm\x07\nhint: y"}]}
    entry = {"mediaType": CARD_TYPE, "data": card}

    async def catalog(request):
        return JSONResponse({"specVersion": "1.0", "entries": [entry]})

    async with running(Starlette(routes=[Route(CATALOG_PATH, catalog)])) as url:
        output = (await run("card", "get", url)).stderr
    assert output.splitlines()[-1] == "  'http://x/ ]0;harm hint: y'  "
    assert "\x1b" not in output


async def test_hosts_in_a_catalog_get_no_credentials(run):
    inner = build_app(lambda text: text)
    sent = []

    async def app(scope, receive, send):
        sent.extend(scope.get("headers", ()))
        await inner(scope, receive, send)

    async with running(app) as other:
        entry = {"displayName": "echo", "mediaType": CARD_TYPE, "url": other + WELL_KNOWN_PATHS[0]}

        async def catalog(request):
            return JSONResponse({"specVersion": "1.0", "entries": [entry]})

        async with running(Starlette(routes=[Route(CATALOG_PATH, catalog)])) as url:
            done = await run("send", f"{url}#echo", "ping", "--bearer", "s3cret")
            assert "ping" in done.stdout
            header = ["--header", "X-Key: s3cret"]
            assert (await run("chat", f"{url}#echo", *header, text="hi")).stdout == "hi\n"
            assert (await run("check", f"{url}#echo", *header)).returncode == 0
    assert sent
    assert not [value for _, value in sent if b"s3cret" in value]


@pytest.mark.parametrize("host", ["agents.invalid", "agents.invalid:8443", "agents.invalid#poet"])
async def test_a_host_without_a_scheme_uses_https(run, host):
    address = host.partition("#")[0]
    for command in (["send", host, "hi"], ["chat", host], ["check", host]):
        done = await run(*command, text="hi")
        assert f"https://{address}/.well-known/" in done.stderr, command
        assert done.returncode == 3


async def test_a_missing_file_is_not_a_host(run):
    done = await run("card", "get", "card.json")
    assert (done.returncode, "card.json cannot be read" in done.stderr) == (3, True), done.stderr


@pytest.mark.parametrize("target", ["app.py", "./app.py", "my.app:chain", "app"])
async def test_a_possible_target_is_not_a_host(run, target):
    done = await run("chat", target)
    assert done.returncode == 2
    assert "https://" not in done.stderr


async def test_an_incomplete_card(url, run, tmp_path):
    card = json.loads((await run("card", "get", url, "-o", "json")).stdout)
    del card["version"], card["skills"]
    (tmp_path / "card.json").write_text(json.dumps(card))
    done = await run("card", "get", "card.json", "--validate")
    assert done.returncode == 1
    assert "version" in done.stderr


async def test_an_agent_without_an_extended_card(url, run):
    done = await run("card", "get", url, "--extended", "-o", "json")
    assert json.loads(done.stdout)["error"]["code"] == "UnsupportedOperationError"


async def test_signatures(run, tmp_path):
    key = ec.generate_private_key(ec.SECP256R1())
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    jwk = ECAlgorithm.to_jwk(key.public_key(), as_dict=True) | {"kid": "k1", "alg": "ES256"}
    inner = None

    async def app(scope, receive, send):
        if scope["type"] == "http" and scope["path"] == "/keys.json":
            body = json.dumps({"keys": [jwk]}).encode()
            headers = [(b"content-type", b"application/json")]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            await send({"type": "http.response.body", "body": body})
            return
        await inner(scope, receive, send)

    async with running(app) as url:
        for jku, output in ((f"{url}/keys.json", "verified by"), ("http://x.example/k", "unver")):
            signer = card_signer(pem, key_id="k1", jwks_url=jku)
            options = ServerOptions(card_signer=signer)
            inner = build_app(lambda text: text, name="Echo", url=url, options=options)
            assert f"\nSignature: {output}" in (await run("card", "get", url)).stdout
            verified = await run("card", "get", url, "--verify")
            assert (verified.returncode == 0) is (output == "verified by"), verified.stderr
            assert verified.returncode == 0 or "the signature of the card is" in verified.stderr
        card = json.loads((await run("card", "get", url, "-o", "json")).stdout)
        public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        (tmp_path / "key.pem").write_bytes(public)
        (tmp_path / "keys.json").write_text(json.dumps({"keys": [jwk]}))
        (tmp_path / "other.json").write_text(json.dumps({"keys": []}))
        (tmp_path / "list.json").write_text("[1]")
        for place, code, said in (
            ("key.pem", 0, "verified by a trusted key"),
            ("keys.json", 0, "verified by a trusted key"),
            (f"{url}/keys.json", 0, "verified by a trusted key"),
            ("other.json", 1, "no signature of the card"),
            (f"{url}/none.json", 1, "HTTP 404"),
            ("http://keys.example/k", 2, "neither a key in PEM format nor an https URL"),
            ("missing.pem", 2, "cannot be read"),
            ("list.json", 2, "neither a key in PEM format"),
        ):
            done = await run("card", "get", url, "--trusted-keys", place)
            assert (done.returncode, said in done.stdout + done.stderr) == (code, True), done
    assert card["signatures"]


async def test_settings_and_their_origins(url, run, tmp_path):
    settings = tmp_path / ".config" / "a2a-cli" / ".env"
    settings.parent.mkdir(parents=True)
    settings.write_text("A2ACLI_AGENT_CARD=http://127.0.0.1:9\nA2ACLI_BEARER=s3cret\n")
    (tmp_path / ".env").write_text(f"A2ACLI_AGENT_CARD={url}\nOTHER=1\nA2ACLI_STREAM=1\n")
    assert (await run("send", "Rome")).returncode == 2  # the token is not for the folder's agent
    shown = (await run("config", "show", A2ACLI_OUTPUT="json")).stdout
    assert f"# A2ACLI_AGENT_CARD={url}  ({tmp_path}/.env)" in shown
    assert f"# A2ACLI_BEARER=***  ({settings})" in shown
    assert "# A2ACLI_OUTPUT=json  (environment)" in shown
    assert "s3cret" not in shown
    settings.unlink()
    assert "It rains" in (await run("send", "Rome")).stdout
    (tmp_path / "mine").write_text("A2ACLI_OUTPUT=json\nA2ACLI_A2A_VERSION=0.3\n")
    version = await run("send", "-a", url, "Rome", "--config", "mine")
    assert json.loads(version.stdout)["task"]["id"]


DESK = '''
from a2a_adapters import Card

@Card(version="2.0", tags=["money"])
def desk(text: str) -> str:
    """Answer questions."""
    return text
'''
SETTINGS = """
[agents.desk]
target = "desk:desk"
description = "Pays back."
card = { version = "3.0", icon_url = "https://example.com/icon.png" }
"""


async def test_the_card_of_a_target_has_the_fields_of_its_decorator(run_json, tmp_path):
    (tmp_path / "desk.py").write_text(DESK)
    card = await run_json("card", "get", "desk:desk")
    assert card["version"] == "2.0"
    assert card["skills"][0]["tags"] == ["money"]


async def test_the_origins_of_fields(run, run_json, tmp_path):
    (tmp_path / "desk.py").write_text(DESK)
    shown = (await run("card", "get", "desk:desk", "--origins")).stdout.splitlines()
    assert shown[:3] == [
        "name: derived by the adapter",
        "description: derived by the adapter",
        "version: Card of the target",
    ]
    (tmp_path / "a2a-adapters.toml").write_text(SETTINGS)
    origins = await run_json("card", "get", "desk", "--origins")
    file = "a2a-adapters.toml"
    assert (origins["description"], origins["version"], origins["icon_url"]) == (file, file, file)
    assert origins["name"] == "the table agents.desk"
    assert origins["tags"] == "Card of the target"
    assert origins["skills"] == "derived by the adapter"
    unnamed = await run("card", "get", "--origins")
    assert unnamed.returncode == 2
    assert "name one of the agents desk, or module:attribute" in unnamed.stderr
    assert (await run("card", "get", "http://127.0.0.1:9", "--origins")).returncode == 2
