"""`a2a-adapters check` in a terminal and in CI."""

from __future__ import annotations

import asyncio
import json
from unittest.mock import ANY

import pytest

from a2a_adapters.testing import running
from tests.plugins.check.broken import Broken, Given, on_card
from tests.plugins.check.support import HEADERS, guarded, plain, put, sound
from tests.plugins.check.test_hostile import refusing, silent
from tests.support.tls import running_with_tls
from tests.support.warm import completed


@pytest.fixture
async def agent():
    async with running(plain()) as url:
        yield url


async def run(*words):
    done = await asyncio.to_thread(completed, "check", *words)
    return done.returncode, done.stdout, done.stderr


async def test_a_sound_agent(agent):
    code, output, _ = await run(agent, "--send", "--fail-on", "note")
    assert code == 0, output
    assert "0 errors, 0 warnings, 0 notes" in output


@pytest.mark.parametrize(
    ("fail_on", "code"), [("error", 0), ("warning", 1), ("note", 1), ("never", 0)]
)
async def test_fail_on_sets_the_severity_that_fails_the_command(fail_on, code):
    async with running(Broken(plain(), put("documentationUrl", "docs.html"))) as url:
        ended, output, _ = await run(url, "--fail-on", fail_on, "-o", "json")
    assert ended == code
    assert [each["id"] for each in json.loads(output)["findings"]] == ["card.link"]


async def test_credentials():
    header = f"Authorization: {HEADERS['Authorization']}"
    async with running(guarded()) as url:
        code, output, _ = await run(url, "--header", header, "-o", "json")
        assert await run(url, "--bearer", HEADERS["Authorization"].split()[1]) == (0, ANY, ANY)
        assert (code, len(json.loads(output)["skipped"]) > 0) == (0, True)
        code, output, _ = await run(url)
    assert code == 0
    assert "the agent requires valid credentials (pass them with --bearer or --header)" in output


async def test_sending_fails_if_no_message_could_be_sent():
    async with running(guarded()) as url:
        code, output, errors = await run(url, "--send")
        assert (code, "not tested" in output) == (1, True)
        assert "the agent was sent no message: the agent requires valid credentials" in errors
        assert (await run(url, "--send", "--fail-on", "never"))[0] == 0


@pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
async def test_a_broken_agent_of_0_3_is_sent_a_message(binding):
    """Its card and its errors are sound, but it cannot answer."""

    def only_old(card):
        del card["supportedInterfaces"]
        return card | {"preferredTransport": binding, "additionalInterfaces": []}

    def fails(asked, given):
        if asked.method == "message/send" or asked.path == "/v1/message:send":
            return Given(500, content=b"{}")
        return on_card(only_old)(asked, given)

    async with running(Broken(plain(), fails)) as url:
        code, output, _ = await run(url, "--send")
    assert code == 1
    assert f"send.answers: {binding} 0.3 at {url}/ answers SendMessage with HTTP 500" in output
    assert "[A2A 0.3.0, 7.1]" in output


async def test_unverified_certificates_are_accepted_on_request_only():
    async with running_with_tls(plain()) as url:
        code, _, error = await run(url)
        assert code == 3
        assert "certificate" in error.lower()
        code, output, error = await run(url, "--insecure", "--bearer", "s3cret")
    assert code == 0, output
    assert "0 errors" in output
    assert error.count("WARNING: --insecure: certificates are not verified, and credentials") == 1
    assert "s3cret" not in output + error


async def test_an_unreachable_agent():
    code, output, error = await run("127.0.0.1:9")
    assert (code, output) == (3, "")
    assert error.startswith("a2a-adapters: http://127.0.0.1:9/.well-known/agent-card.json cannot")
    assert len(error.splitlines()) == 1


@pytest.mark.parametrize(("app", "code"), [(refusing, 4), (silent, 5)])
async def test_no_card(app, code):
    async with running(app) as url:
        ended, output, error = await run(url, "--timeout", "1")
    assert (ended, output) == (code, "")
    assert "Traceback" not in error


async def test_wrong_options():
    for words in (
        ["ftp://agent"],
        ["http://127.0.0.1:9", "-o", "html"],
        ["http://a", "--header", "x"],
    ):
        code, _, _ = await run(*words)
        assert code == 2, words


async def test_a_proxy(monkeypatch):
    for name in ("HTTP_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    agent = "http://agent.example.org"
    async with running(
        sound(allowed_hosts=["agent.example.org"])
    ) as proxy:  # serves the URLs' paths
        code, output, error = await run(agent, "--proxy", proxy)
        assert "echo at http://agent.example.org" in output, error
        monkeypatch.setenv("HTTP_PROXY", proxy)
        code, output, error = await run(agent)
        assert "echo at http://agent.example.org" in output, error
    code, output, error = await run(agent, "--proxy", "gopher://ann:s3cret@proxy.example")
    assert (code, "proxy.example cannot be used" in error) == (2, True), output + error
    assert "s3cret" not in error
    assert "Traceback" not in error
