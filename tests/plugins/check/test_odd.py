"""Cards and responses of unexpected shapes are reported and never abort the check."""

from __future__ import annotations

import base64
import json

import httpx
import pytest
from a2a_adapters_check import check
from a2a_adapters_check.http_client import HttpClient
from a2a_adapters_check.runner import examine

from a2a_adapters.testing import running
from tests.plugins.check.broken import Broken, Given, on_events, on_method, result
from tests.plugins.check.card_seeds import interface, say, signed
from tests.plugins.check.sending_seeds import on_task
from tests.plugins.check.support import plain, put, sound

URL = "https://agents.example.org"


async def found_in(edit, *, send=False):
    async with running(Broken(plain(), edit)) as url:
        report = await check(url, send=send)
    return {each.id for each in report.findings}


def header(**fields):
    text = json.dumps({"alg": "ES256", "kid": "k", **fields})
    return signed(base64.urlsafe_b64encode(text.encode()).decode().rstrip("="))


def detailed(_):
    data = [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": ["a", "list"]}]
    body = {"code": -32001, "message": "It is not there.", "data": data}
    return Given().of({"jsonrpc": "2.0", "id": "check-1", "error": body})


@pytest.mark.parametrize(
    ("edit", "found"),
    [
        (header(alg=["ES256"]), "signature.form"),
        (header(alg={}), "signature.form"),
        (header(jku="http://[", kid=["k"]), "signature.key"),
        (interface(url="http://["), "binding.answers"),
        (interface(protocolVersion="1.0\u00e9"), "binding.answers"),
        (interface(protocolBinding="GRPC", protocolVersion="1.0\u00e9"), "binding.grpc"),
        (interface(protocolBinding="GRPC", protocolVersion="1\r\nx: y"), "binding.grpc"),
        (interface(protocolBinding="GRPC", url="127.0.0.1:99999999"), "binding.grpc"),
    ],
)
async def test_odd_cards(edit, found):
    assert found in await found_in(edit)


@pytest.mark.parametrize(
    ("edit", "found"),
    [
        (on_method("GetTask", detailed), None),
        (on_method("SendMessage", result({"task": {"id": "1", "status": "done"}})), "send.type"),
        (on_method("SendMessage", result({"task": 1, "message": [1]})), "send.answers"),
        (on_method("ListTasks", result({"tasks": 5})), "capability.list"),
    ],
)
async def test_odd_answers(edit, found):
    assert found is None or found in await found_in(edit, send=True)


async def test_events_that_nobody_understands_are_reported_once():
    def old(events):
        return [events[0], *({"kind": "status-update", "final": True} for _ in events[1:])]

    found = await found_in(on_events("SendStreamingMessage", old), send=True)
    assert "stream.event" in found
    assert "stream.end" not in found


ENDLESS = ";a=" + '"x";a=' * 2_000 + " !"


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("edit", "found"),
    [
        (put("defaultInputModes", [f"text/plain{ENDLESS}"]), "card.media-types"),
        (say("<" + " " * 19_000), None),
        (put("skills/0/examples", ["eyJ-" * 5_000] * 40), "card.size"),
        (on_method("GetTask", lambda _: Given(content=b"\n" * 4_000_000)), "binding.speaks"),
    ],
    ids=["media type", "markup", "tokens", "empty lines"],
)
async def test_texts_by_which_patterns_look_back_for_hours(edit, found):
    reports = await found_in(edit)
    assert found in reports if found else not reports


async def test_a_task_that_ends_while_it_is_cancelled_is_noted():
    edit = on_task("CancelTask", lambda task: task["status"].update(state="TASK_STATE_COMPLETED"))
    async with running(Broken(plain(), edit)) as url:
        report = await check(url, send=True)
    (finding,) = [each for each in report.findings if each.id == "task.cancel"]
    assert finding.severity == "note"
    assert "a task in TASK_STATE_COMPLETED" in finding.message


async def found_at(url, app):
    """Return the ids of the findings for a card at a URL."""
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport) as http:
        line = HttpClient(lambda _: http, None, patience=8)
        address = httpx.URL(url)
        report = await examine(line, address, send=False, has_credentials=False, seconds=30)
    return {each.id for each in report.findings}


@pytest.mark.parametrize(
    ("url", "found"),
    [
        (URL, {"security.hsts"}),
        ("http://agents.example.org", {"address.https"}),
        ("http://localhost:8000", {"security.rebinding"}),
        ("http://192.168.0.7", set()),
    ],
)
async def test_an_agent_by_its_address(url, found):
    assert await found_at(url, sound(allowed_hosts=["*"])) == found


@pytest.mark.parametrize(
    "inner", ["https://localhost/", "http://10.1.2.3/", "https://agent.internal/", "http://[::1]/"]
)
async def test_addresses_that_others_cannot_reach(inner):
    app = Broken(sound(allowed_hosts=["*"]), interface(url=inner))
    assert "address.routable" in await found_at(URL, app)
