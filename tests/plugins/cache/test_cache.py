"""Answers that are kept."""

from __future__ import annotations

import asyncio
from contextvars import ContextVar

import pytest
from a2a_adapters_cache import AnswerCache

from a2a_adapters import (
    AgentRequest,
    BearerAuth,
    BearerTokens,
    Data,
    File,
    InputRequired,
    RemoteAgent,
    RemoteTaskError,
    ServerOptions,
    Text,
    build_app,
)
from a2a_adapters.testing import running

USERS = {"t-ann": "ann", "t-bob": "bob"}


class Counting:
    """Counts the messages that reach it."""

    def __init__(self):
        self.calls = 0

    async def answer(self, request: AgentRequest):
        """Answer with a number."""
        self.calls += 1
        if request.text == "ask":
            yield InputRequired("Which?")
        if request.text == "fail":
            raise RuntimeError("broken")
        yield f"{request.owner} {self.calls}"


@pytest.fixture
def counting():
    return Counting()


@pytest.fixture
async def url(counting):
    async with running(build_app(counting.answer)) as url:
        yield url


@pytest.fixture
async def cache(url):
    async with RemoteAgent(url) as agent:
        yield AnswerCache(agent, user=None)


async def test_the_same_message_gets_the_same_answer(cache, counting):
    first = await cache.send("hello")
    first.metadata["mine"] = 1
    again = await cache.send("hello")
    assert (again.text, again.task_id, counting.calls) == (" 1", first.task_id, 1)
    assert "mine" not in again.metadata
    assert (await asyncio.to_thread(cache.send_sync, "hello")).text == " 1"


@pytest.mark.parametrize(
    ("message", "options"),
    [
        ("other", {}),
        ([Text("hello"), Data({"a": 1})], {}),
        ([File(content=b"a", filename="a")], {}),
        ("hello", {"metadata": {"a": 1}}),
        ("hello", {"skill": "a"}),
    ],
)
async def test_other_messages_get_other_answers(cache, message, options):
    await cache.send("hello")
    for _ in range(2):
        assert (await cache.send(message, **options)).text == " 2"


@pytest.mark.parametrize("message", [File(url="https://files.example/a"), "ask"])
async def test_some_answers_are_not_kept(cache, counting, message):
    for _ in range(2):
        await cache.send(message)
    assert counting.calls == 2


async def test_failures_are_not_kept(cache, counting):
    for _ in range(2):
        with pytest.raises(RemoteTaskError):
            await cache.send("fail")
    assert counting.calls == 2


async def test_answers_expire_and_are_bounded(url, counting):
    async with RemoteAgent(url) as agent:
        expiring = AnswerCache(agent, user=None, seconds=0)
        for number in (1, 2):
            assert (await expiring.send("hello")).text == f" {number}"
        bounded = AnswerCache(agent, user=None, answers=1)
        for text in ("one", "two", "one"):
            await bounded.send(text)
    assert counting.calls == 5


async def test_users_get_answers_of_their_own(counting):
    tokens = ServerOptions(authentication=BearerTokens(USERS))
    token: ContextVar[str] = ContextVar("token")
    app = build_app(counting.answer, options=tokens)
    async with running(app) as url, RemoteAgent(url, auth=BearerAuth(token.get)) as agent:
        cache = AnswerCache(agent, user=token.get)

        async def ask(user):
            token.set(f"t-{user}")
            first, again = await cache.send("hello"), await cache.send("hello")
            assert first.text == again.text
            return first.text.split()[0]

        assert await asyncio.gather(ask("ann"), ask("bob")) == ["ann", "bob"]
    assert counting.calls == 2
