"""History of contexts in the storage."""

from __future__ import annotations

import asyncio
import json
import random
from contextlib import suppress
from uuid import uuid4

import httpx
import pytest
from a2a.server.context import ServerCallContext

from a2a_adapters import (
    Data,
    File,
    InputRequired,
    Limits,
    Output,
    Reply,
    ServerOptions,
    Text,
    TextDelta,
    as_executor,
    build_app,
)
from a2a_adapters.plugin import Adapter, AgentDescription
from a2a_adapters.protocol.card import build_card
from a2a_adapters.runtime import Runtime
from a2a_adapters.testing import answer_of, user_message
from tests.plugins.sql.test_contract import Named
from tests.plugins.sql.test_push import rows
from tests.support.processes import launched
from tests.support.requests import call, say
from tests.support.warm import warm

PARTS = (
    Text("x", metadata={"n": 3}),
    Data({"whole": 3, "half": 0.5, "deep": [{"a": None}, 2**53]}),
    File(content=b"\0\xff", media_type="image/png", filename="a.png"),
    File(url="https://example.org/a.png"),
)


class Remembering(Adapter):
    uses_history = True
    may_reply = True

    def __init__(self, script):
        self.script = script

    def describe(self):
        return AgentDescription(name="a", description="A.")

    def stream(self, request):
        return self.script(request)


async def recall(request):
    """Answer with the history, oldest first."""
    if request.text == "crash":
        raise RuntimeError
    if request.text == "ask":
        request = yield InputRequired("what?")
    yield TextDelta(" ".join(turn.text for turn in request.history))


class Server:
    """A process's agent on a storage."""

    def __init__(self, storage, script=recall, agent="agent", limits=None):
        self._storage = storage.of(agent)
        self._executor = as_executor(Remembering(script), ServerOptions(limits=limits or Limits()))
        card = build_card(self._executor.adapter.describe(), "http://x")
        self._runtime = Runtime(self._executor, card, storage=self._storage)

    async def __aenter__(self):
        await self._executor.open(self._storage)
        return self

    async def __aexit__(self, *_):
        await self._runtime.aclose()

    async def say(self, text, owner="", context_id="c", task_id=""):
        request = user_message(text, context_id=context_id, task_id=task_id)
        context = ServerCallContext(user=Named(owner))
        return await self._runtime.on_message_send(request, context)


async def test_a_conversation_continues_after_a_restart(database_url):
    answers = []
    for text in "abc":
        app = build_app(Remembering(recall), options=ServerOptions(storage=database_url))
        transport = httpx.ASGITransport(app)
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=transport, base_url="http://agent") as http,
        ):
            answers.append(spoken(await said(http, text)))
    assert answers == ["", "a ", "a  b a "]


async def test_callers_agents_and_contexts_are_isolated(storage):
    async with Server(storage) as one, Server(storage, agent="other") as other:
        places = [(server, owner, c) for server in (one, other) for owner in "ab" for c in "cd"]
        await asyncio.gather(
            *(s.say(f"{n}", owner=o, context_id=c) for n, (s, o, c) in enumerate(places))
        )
        answers = await asyncio.gather(*(s.say("?", owner=o, context_id=c) for s, o, c in places))
    assert [answer_of(task) for task in answers] == [f"{n} " for n in range(len(places))]


async def test_it_is_bounded_and_skips_failures(storage):
    async with Server(storage, limits=Limits(history_messages=2)) as server:
        for text in ("a", "b", "crash"):
            await server.say(text)
        assert answer_of(await server.say("c")) == "b a "
    async with Server(storage, agent="small", limits=Limits(history_bytes=30)) as server:
        for text in ("x" * 20, "y" * 20, "z"):
            answers = answer_of(await server.say(text))
        assert answers.startswith("x" * 20)  # the previous answer, the only turn that fits
        assert "y" not in answers


async def test_questions_and_answers_are_part_of_it(storage):
    async with Server(storage) as server:
        task = await server.say("ask")
        task = await server.say("that", task_id=task.id)
        assert answer_of(task) == "ask what?"
        assert answer_of(await server.say("?")) == "ask what? that ask what?"


async def test_all_parts_round_trip(storage):
    seen = []

    async def script(request):
        seen.extend(turn.parts for turn in request.history)
        yield Output(PARTS) if request.text == "task" else Reply(PARTS)

    async with Server(storage, script) as server:
        for text in ("task", "reply", "?"):
            await server.say(text)
    assert seen[-1] == seen[-3] == PARTS
    assert [parts[0].text for parts in seen[-4::2]] == ["task", "reply"]


async def test_concurrent_messages_are_stored_in_order(storage):
    async with Server(storage) as server:
        await asyncio.gather(*(server.say(f"m{n}") for n in range(8)))
        answered = answer_of(await server.say("?")).split()
    firsts = [text for n, text in enumerate(answered) if text not in answered[:n]]
    assert firsts == [f"m{n}" for n in range(8)]


async def said(http, text):
    message = say(text, messageId=uuid4().hex, contextId="c")
    return (await call(http, "SendMessage", message))["result"]["task"]


def spoken(task):
    return "".join(part["text"] for a in task.get("artifacts", []) for part in a["parts"])


@pytest.mark.timeout(300)
async def test_a_crash_leaves_whole_turns_in_order(database_url):
    command = warm("-m", "tests.plugins.sql.served_history", database_url)
    answered = []
    with launched(command) as (process, url):
        async with httpx.AsyncClient(base_url=url, timeout=60) as http:
            kill_after = random.Random(3).randrange(3, 9)
            with suppress(httpx.HTTPError):
                while process.returncode is None:
                    text = f"m{len(answered)}"
                    task = asyncio.create_task(said(http, text))
                    if len(answered) == kill_after:
                        await asyncio.sleep(0)
                        process.kill()
                    answered.append([text, spoken(await task)])
    with launched(command) as (_, url):
        async with httpx.AsyncClient(base_url=url, timeout=60) as http:
            turns = json.loads(spoken(await said(http, "?")))
    assert [role for role, _ in turns] == ["user", "agent"] * (len(turns) // 2)
    pairs = [[user[1], agent[1]] for user, agent in zip(turns[::2], turns[1::2], strict=True)]
    assert pairs[: len(answered)] == answered
    assert len(pairs) <= len(answered) + 1


async def test_a_turn_that_fails_with_its_process_leaves_no_trace(database_url, tmp_path):
    module, killed = "tests.plugins.sql.served_history", tmp_path / "killed"
    command = warm("-m", module, database_url, "before", str(killed), "no-resume")
    with launched(command) as (process, url):
        async with httpx.AsyncClient(base_url=url, timeout=60) as http:
            with pytest.raises(httpx.HTTPError):
                await said(http, "lost")
        assert process.wait() == 9
    rows(database_url, "UPDATE a2a_processes SET lease_until = 0")
    with launched(command) as (_, url):
        async with httpx.AsyncClient(base_url=url, timeout=60) as http:
            assert json.loads(spoken(await said(http, "first"))) == []
            assert json.loads(spoken(await said(http, "?"))) == [["user", "first"], ["agent", "[]"]]


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_crash_at_the_end_repeats_no_turn(database_url, tmp_path, when):
    module, answered = "tests.plugins.sql.served_history", tmp_path / "answered"
    command = warm("-m", module, database_url, when, str(answered))
    with launched(command) as (process, url):
        async with httpx.AsyncClient(base_url=url, timeout=60) as http:
            with pytest.raises(httpx.HTTPError):
                await said(http, "once")
        assert process.wait() == 9
    rows(database_url, "UPDATE a2a_processes SET lease_until = 0")
    with launched(command) as (_, url):
        async with httpx.AsyncClient(base_url=url, timeout=60) as http:
            assert json.loads(spoken(await said(http, "?"))) == [["user", "once"], ["agent", "[]"]]
