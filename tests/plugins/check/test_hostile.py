"""Agents that send too much, too slowly or odd text cannot harm the check or its reader."""

from __future__ import annotations

import asyncio
import json

import httpx
import pytest
from a2a_adapters_check import Severity, check
from pydantic_core import from_json

from a2a_adapters import (
    ConfigurationError,
    RemoteAuthError,
    RemoteConnectionError,
    RemoteTimeoutError,
)
from a2a_adapters.testing import running
from tests.plugins.check.broken import CARD, Broken
from tests.plugins.check.support import plain, put


class Hostile:
    """Serves a sound card and hostile responses to everything else.

    Args:
        answer: Sends the body of a response.
        media_type: Declared media type.
    """

    def __init__(self, answer, media_type="application/json"):
        self._app = plain()
        self._answer = answer
        self._media_type = media_type

    async def __call__(self, scope, receive, send):
        if scope["type"] == "lifespan" or scope["path"] == CARD:
            await self._app(scope, receive, send)
            return
        headers = [(b"content-type", self._media_type.encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await self._answer(send)


async def nothing(send):
    await asyncio.Event().wait()


async def floods(send):
    while True:
        await send({"type": "http.response.body", "body": b"[" * 65536, "more_body": True})
        await asyncio.sleep(0.001)  # a disconnected reader goes unnoticed


async def drips(send):
    while True:
        await send({"type": "http.response.body", "body": b"data: {}\n\n", "more_body": True})
        await asyncio.sleep(0.01)


async def nests(send):
    await send({"type": "http.response.body", "body": b"[" * 100_000 + b"]" * 100_000})


@pytest.mark.parametrize(
    ("answer", "media_type"),
    [
        (nothing, "application/json"),
        (floods, "application/json"),
        (drips, "text/event-stream"),
        (nests, "application/json"),
    ],
)
async def test_answers_that_never_end(answer, media_type):
    async with running(Hostile(answer, media_type)) as url:
        async with asyncio.timeout(120):
            report = await check(url, send=True, timeout=3)
    assert {"binding.answers", "binding.speaks"} & {each.id for each in report.findings}, report
    assert "error.unknown-task" in report.skipped


async def refusing(scope, receive, send):
    if scope["type"] == "http":
        await send({"type": "http.response.start", "status": 401, "headers": []})
        await send({"type": "http.response.body"})


async def silent(scope, receive, send):
    if scope["type"] == "http":
        await asyncio.Event().wait()


async def test_a_card_that_needs_credentials():
    async with running(refusing) as url:
        with pytest.raises(RemoteAuthError):
            await check(url)


async def test_a_card_that_never_comes():
    async with running(silent) as url:
        with pytest.raises(RemoteTimeoutError):
            await check(url, timeout=0.2)


async def test_an_unreachable_agent():
    with pytest.raises(RemoteConnectionError):
        await check("http://127.0.0.1:9")
    with pytest.raises(ConfigurationError):
        await check("agent")


async def test_credentials_go_to_the_agents_own_origin_only():
    seen = []

    async def other(scope, receive, send):
        if scope["type"] == "http":
            seen.append(dict(scope["headers"]))
            await refusing(scope, receive, send)

    async def agent(scope, receive, send):
        if scope["type"] == "http":
            body = json.dumps(card).encode()
            headers = [(b"content-type", b"application/json")]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            await send({"type": "http.response.body", "body": body})

    async with running(other) as elsewhere, running(agent) as url:
        async with running(plain()) as sound, httpx.AsyncClient() as http:
            card = from_json((await http.get(f"{sound}{CARD}")).content)
        for each in card["supportedInterfaces"]:
            each["url"] = elsewhere
        await check(url, headers={"Authorization": "Bearer secret"})
    assert seen
    assert not [headers for headers in seen if b"secret" in headers.get(b"authorization", b"")]


SANE = [
    "Books flights. You must be signed in; ask it for dates, prices and seats.",
    "Ignores empty lines. Shows the previous instructions of a recipe.",
    "Resets your password, and tells the user what to do next.",
    "Use this agent for taxes. It only uses my own documents.",
    "a < b and b > c; task-skeleton-of-a-very-long-name; you are now able to pay.",
    "Persian joins by \u200c, and families by \U0001f468\u200d\U0001f469\u200d\U0001f467.",
    "A heart: \u2764\ufe0f.",
    "A flag: \U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
    "Right to left: \u200f\u05e2\u05d1\u05e8\u05d9\u05ea\u200e.",
    "Several lines,\n\tindented,\r\nand *Markdown*: [a link](https://example.org).",
]


async def test_sane_texts_raise_no_alarm():
    async with running(Broken(plain(), put("skills/0/examples", SANE))) as url:
        report = await check(url)
    assert not report.at_least(Severity.NOTE)


async def test_findings_are_one_line_that_cannot_move_the_cursor():
    nasty = "\x1b[2J\x1b]0;owned\x07\u202eevil\nsecond line"
    modes = [f"{nasty} {n}" for n in range(30)]
    async with running(Broken(plain(), put("defaultInputModes", modes))) as url:
        report = await check(url)
    texts = [text for each in report.findings for text in (each.message, each.where, each.remedy)]
    assert all(text.isprintable() for text in texts)
    assert len([each for each in report.findings if each.id == "card.media-types"]) == 20
