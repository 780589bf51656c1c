"""Checks of sound servers: no findings, or correct ones only."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import jwt
import pytest
from a2a.server.tasks import TaskUpdater
from a2a_adapters_check import Severity, check
from a2a_adapters_check.clauses import OLD_CLAUSES
from a2a_adapters_check.runner import CHECKS
from a2a_adapters_jwt import card_signer
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

from a2a_adapters import BearerTokens, ServerOptions, Skill, build_app
from a2a_adapters.testing import running
from tests.plugins.check.broken import Broken, Given, on_card
from tests.plugins.check.fasta2a_agent import fasta2a
from tests.plugins.check.support import (
    HEADERS,
    TOKEN,
    Guardrails,
    echo,
    guarded,
    plain,
    pushing,
    sound,
)
from tests.support.requests import grpc_port
from tests.support.servers.bindings import rest_only
from tests.support.servers.sdk import Scripted, sdk_app, text

NOTHING = set()
TRUSTING = {"wire.host", "wire.length", "security.rebinding"}
"""Faults of servers that leave such requests to a proxy in front."""

NO_CACHING = {"caching.max-age", "caching.etag"}


def ids(report, least=Severity.NOTE):
    return {each.id for each in report.at_least(least)}


@pytest.mark.parametrize("app", [plain, pushing], ids=lambda app: app.__name__)
@pytest.mark.parametrize("send", [False, True], ids=["reading", "sending"])
async def test_ours(app, send):
    async with running(app()) as url:
        report = await check(url, send=send)
    assert ids(report) == NOTHING, report
    assert report.is_sound
    assert report.agent == "echo"
    assert {each.id for each in CHECKS} == {*report.passed, *report.skipped}
    assert {each.id for each in CHECKS if each.sends and not send} == set(report.skipped)
    assert ("first_token" in report.figures) == send


@pytest.mark.parametrize("holds", [True, False])
async def test_one_with_guardrails(holds):
    options = ServerOptions(hold_text="guarded" if holds else "never")
    async with running(build_app(Guardrails(), options=options)) as url:
        report = await check(url)
    assert ids(report) == NOTHING, report
    assert report.holds_text is holds


async def test_one_that_asks_for_credentials():
    async with running(guarded()) as url:
        known = await check(url, send=True, headers=HEADERS)
        stranger = await check(url, send=True)
    assert ids(known) == ids(stranger) == NOTHING
    assert not known.skipped
    assert stranger.skipped["error.unknown-task"] == "the agent requires valid credentials"
    assert TOKEN not in repr(known)


async def test_one_with_an_extended_card():
    def extend(about, user):
        skill = Skill(id="more", name="More", description=f"More for {user}.")
        return replace(about, skills=[*about.skills, skill])

    tokens = BearerTokens({TOKEN: "caller"})
    async with running(sound(authentication=tokens, extended_description=extend)) as url:
        assert ids(await check(url, headers=HEADERS)) == NOTHING
        assert ids(await check(url)) == NOTHING


async def test_one_over_grpc():
    app = sound(grpc_port=0)
    async with running(app) as url:
        assert grpc_port(app)
        report = await check(url)
    assert ids(report) == NOTHING
    assert "binding.grpc" in report.passed


async def test_one_of_several():
    async with running(build_app({"one": echo, "two": echo})) as url:
        assert ids(await check(f"{url}/agents/two", send=False)) == NOTHING


async def test_one_for_web_pages():
    async with running(sound(cors_origins=["*"], allowed_hosts=["*"])) as url:
        assert ids(await check(url)) == {"security.rebinding"}
    tokens = BearerTokens({TOKEN: "caller"})
    guarded = sound(cors_origins=["*"], allowed_hosts=["*"], authentication=tokens)
    async with running(guarded) as url:
        assert ids(await check(url, headers=HEADERS)) == NOTHING


def without_current(card):
    del card["supportedInterfaces"]
    return card


async def test_one_of_0_3():
    async with running(Broken(plain(), on_card(without_current))) as url:
        report = await check(url, send=True)
    assert ids(report) == NOTHING, report
    assert "send.answers" in report.passed
    assert "no HTTP interface supports A2A 1.0" in report.skipped.values()
    for each in CHECKS:
        if each.id in report.passed and each.clause.startswith("A2A 1"):
            assert each.id in OLD_CLAUSES, "a section of 0.3.0, as no other applies to the agent"


async def test_a_rest_server_of_0_3_has_its_own_errors():
    """The errors of a2a-sdk 0.3 over HTTP+JSON, whose form only A2A 1.0 defines."""
    card = {
        "name": "Old", "description": "An old agent.", "version": "1", "protocolVersion": "0.3.0",
        "url": "http://127.0.0.1", "preferredTransport": "HTTP+JSON", "skills": [],
        "capabilities": {}, "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["text/plain"],
    }  # fmt: skip

    async def show(request):
        return JSONResponse(card | {"url": str(request.base_url).rstrip("/")})

    async def missing(request):
        return JSONResponse({"message": "Task not found"}, 404)

    paths = Route("/.well-known/agent-card.json", show), Route("/v1/tasks/{id}", missing)
    async with running(Starlette(routes=paths)) as url:
        report = await check(url)
    assert "binding.speaks" in report.passed
    assert "error.unknown-task" in report.passed
    assert {each.id for each in report.findings} >= {"error.no-json", "caching.etag"}
    assert not [each for each in report.findings if each.clause.startswith("A2A 1")]


async def test_a_connection_that_a_server_broke_is_replaced():
    """A server such as fasta2a closes connections after a failure without saying so."""
    app, length = plain(), [(b"content-length", b"9")]
    broken = []

    async def closing(scope, receive, send):
        if scope["type"] == "http" and scope["method"] == "POST" and not broken:
            broken.append(scope)
            await send({"type": "http.response.start", "status": 200, "headers": length})
            raise ConnectionError("broken")
        await app(scope, receive, send)

    async with running(closing) as url:
        assert ids(await check(url)) == NOTHING
    assert broken


async def test_a_message_gets_a_connection_that_no_error_has_closed():
    """A server such as fasta2a closes connections after a failure without saying so."""
    lost = []

    async def closing(scope, receive, send):
        """Break the connection of a message that is not the first request on it."""
        if scope["type"] == "http" and scope["method"] == "POST":
            used[scope["client"]] += 1
            body = b"".join([chunk async for chunk in _chunks(receive)])
            if b"SendMessage" in body and used[scope["client"]] > 1:
                lost.append(body)
            receive = _again(body, receive)
        await agent(scope, receive, send)

    used = Counter()
    agent = plain()
    async with running(closing) as url:
        assert ids(await check(url, send=True)) == NOTHING
    assert max(used.values()) > 1, "other requests share connections"
    assert not lost


async def _chunks(receive):
    message = {"more_body": True}
    while message.get("more_body"):
        message = await receive()
        yield message["body"]


def _again(body, receive):
    left = [{"type": "http.request", "body": body}]

    async def received():
        return left.pop() if left else await receive()

    return received


async def test_a_message_whose_answer_is_lost_is_not_sent_again():
    """The agent has processed it and would do so twice."""
    received, lost = [], []

    def note(asked, given):
        if asked.method == "SendMessage":
            received.append(asked.body["params"]["message"]["messageId"])
        return given

    agent = Broken(plain(), note)

    async def losing(scope, receive, send):
        async def answer(event):
            if received and not lost:
                lost.append(event)
                length = [(b"content-length", b"9")]
                await send({"type": "http.response.start", "status": 200, "headers": length})
                raise ConnectionError("broken")
            await send(event)

        await agent(scope, receive, answer)

    async with running(losing) as url:
        report = await check(url, send=True)
    assert lost
    assert len(received) == len(set(received)), "no message comes twice"
    assert "send.answers" in ids(report)


class Late:
    """An app built once its URL is known; it also serves its public key."""

    app = None
    keys = None

    async def __call__(self, scope, receive, send):
        if scope["type"] == "lifespan":
            await plain()(scope, receive, send)
        elif scope["path"] == "/jwks.json":
            given = Given().of(self.keys)
            edited = Broken(self.app, lambda asked, answer: given)
            await edited(scope, receive, send)
        else:
            await self.app(scope, receive, send)


def key_pair():
    key = ec.generate_private_key(ec.SECP256R1())
    public = jwt.algorithms.ECAlgorithm.to_jwk(key.public_key(), as_dict=True)
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return pem, {"keys": [{**public, "kid": "mine"}]}


@pytest.fixture
async def signed():
    """An agent that signs its card."""
    late = Late()
    private, late.keys = key_pair()
    async with running(late) as url:
        signer = card_signer(private, key_id="mine", jwks_url=f"{url}/jwks.json")
        late.app = build_app(echo, url=url, options=ServerOptions(card_signer=signer))
        yield late, url


async def test_one_that_signs_its_card(signed):
    _, url = signed
    report = await check(url)
    assert ids(report) == NOTHING, report
    assert "signature.valid" in report.passed


async def test_a_card_that_was_changed_after_it_was_signed(signed):
    late, url = signed
    late.app = Broken(late.app, on_card(lambda card: {**card, "name": "Another"}))
    assert ids(await check(url)) == {"signature.valid"}


async def test_a_card_signed_by_another_key(signed):
    late, url = signed
    _, late.keys = key_pair()
    assert ids(await check(url)) == {"signature.valid"}


@pytest.mark.parametrize("keys", [{"keys": []}, {"error": "none"}, []])
async def test_a_key_that_is_not_there(signed, keys):
    late, url = signed
    late.keys = keys
    assert ids(await check(url)) == {"signature.key"}


async def pong(context, updater: TaskUpdater):
    await updater.start_work()
    await updater.add_artifact(text(f"pong: {context.get_user_input()}"), last_chunk=True)
    await updater.complete()


@pytest.mark.parametrize("send", [False, True], ids=["reading", "sending"])
async def test_the_official_server(send):
    """Its card route sets no caching headers, and it does not verify media types by default."""
    app = sdk_app(Scripted(pong), bindings=("JSONRPC", "HTTP+JSON"))
    async with running(app) as url:
        report = await check(url, send=send)
    assert ids(report, Severity.WARNING) == TRUSTING, report
    assert ids(report) == NO_CACHING | TRUSTING | ({"send.media-type"} if send else set())


async def test_the_official_server_by_one_binding():
    async with running(rest_only()) as url:
        assert ids(await check(url)) == NO_CACHING | TRUSTING


FASTA2A = {
    "error.unknown-method",  # HTTP 500, as the next three
    "error.no-json",
    "error.no-request",
    "error.params",
    "error.version",  # it ignores A2A-Version
    "capability.list",  # "not supported" with the storage in memory
    "capability.undeclared-push",  # HTTP 500
    "capability.undeclared-extended-card",  # HTTP 500
}
"""Known faults of fasta2a 2.1, confirmed by hand."""

FASTA2A_SENDING = {
    "send.timestamp",  # without a zone
    "send.no-parts",
    "send.unknown-task",
    "send.media-type",
}

FASTA2A_ENDED = {"task.ended-cancel", "task.ended-subscribe", "task.history-length"}
"""Found only if the task ends before its message is answered, which is a race in fasta2a."""


@pytest.mark.parametrize("send", [False, True], ids=["reading", "sending"])
async def test_fasta2a(send):
    app = fasta2a()
    async with running(app) as url:
        app.url = url
        report = await check(url, send=send)
    expected = NO_CACHING | TRUSTING | FASTA2A | (FASTA2A_SENDING if send else set())
    assert ids(report) - FASTA2A_ENDED == expected, report
