"""Clients that come back or leave, and threads of different callers."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager

import pytest

from a2a_adapters import BearerTokens, InputRequired, Limits, ServerOptions
from tests.plugins.ag_ui.served import Heard, asked, resuming, run, serving, user

TOKENS = ServerOptions(authentication=BearerTokens({"a": "ann", "b": "bob"}))
ANN, BOB = ({"Authorization": f"Bearer {token}"} for token in ("a", "b"))


class Slow:
    """An agent that goes on when it may, and notes how its runs end."""

    def __init__(self):
        self.runs = 0
        self.may_go_on = asyncio.Event()
        self.ends = asyncio.Queue()

    async def answer(self, request):
        """Say something in two parts."""
        self.runs += 1
        try:
            yield "one "
            await self.may_go_on.wait()
            yield "two"
        finally:
            self.ends.put_nowait(bool(request.cancelled))


@asynccontextmanager
async def streaming(http, given):
    """Begin a run and yield its events one by one."""
    async with http.stream("POST", "/ag-ui", json=given) as response:
        lines = response.aiter_lines()
        yield (json.loads(line[6:]) async for line in lines if line.startswith("data: "))


async def heard_of(events, *, until=None):
    """Return the next events; stop after one of the type `until`."""
    heard = []
    async for event in events:
        heard.append(event)
        if event["type"] == until:
            break
    return heard


async def test_a_run_that_is_sent_again_is_followed_and_not_doubled():
    agent = Slow()
    given = asked("x")
    async with serving(agent.answer) as http:
        async with streaming(http, given) as first:
            before = await heard_of(first, until="TEXT_MESSAGE_CONTENT")
            partial = {"id": before[-1]["messageId"], "role": "assistant", "content": "one "}
            again = {**given, "messages": [*given["messages"], partial]}
            async with streaming(http, again) as second:
                back = await heard_of(second, until="TEXT_MESSAGE_CONTENT")
                agent.may_go_on.set()
                back += await heard_of(second)
            after = await heard_of(first)
        replayed = Heard(await http.post("/ag-ui", json=again), again)
    assert agent.runs == 1
    [snapshot] = [event for event in back if event["type"] == "MESSAGES_SNAPSHOT"]
    assert [message["id"] for message in snapshot["messages"]] == [given["messages"][0]["id"]]
    assert [text_of(each) for each in (before + after, back)] == ["one two", "one two"]
    assert replayed.text == "one two"
    assert replayed.of("TEXT_MESSAGE_START")[0]["messageId"] == partial["id"]


def text_of(events):
    return "".join(e["delta"] for e in events if e["type"] == "TEXT_MESSAGE_CONTENT")


async def test_runs_of_a_task_that_asked_are_replayed_apart(http):
    question = user("ASK")
    first = await run(http, question, run="1")
    early = await run(http, question, run="1")
    second = await run(http, run="2", resume=resuming(first.interrupt, "Rome"))
    again = await run(http, run="2", resume=resuming(first.interrupt, "Rome"))
    late = await run(http, question, run="1")
    assert early.interrupt == first.interrupt
    assert second.text == again.text == "took Rome"
    assert (late.last["type"], late.last["code"]) == ("RUN_ERROR", "run_continued")


async def test_the_same_run_sent_twice_at_once_is_run_once():
    agent = Slow()
    given = asked("x", thread="9b2f6c1e-4f57-4d7e-8c2a-9b8d7e6f0a1b")
    async with serving(agent.answer) as http:
        posts = [asyncio.create_task(http.post("/ag-ui", json=given)) for _ in range(5)]
        agent.may_go_on.set()
        heard = [Heard(await each, given) for each in posts]
    assert agent.runs == 1
    assert {each.text for each in heard} == {"one two"}


async def test_a_client_that_leaves_cancels_the_run():
    agent = Slow()
    async with serving(agent.answer) as http:
        given = asked("x")
        async with streaming(http, given) as response:
            await heard_of(response, until="TEXT_MESSAGE_CONTENT")
        assert await agent.ends.get() is True
        current = Heard(await http.post("/ag-ui", json=given), given)
        old = Heard(await http.post("/ag-ui", json={**given, "protocolVersion": "0.9"}), given)
    assert current.last["outcome"] == {"type": "cancelled"}
    assert (old.last["type"], old.last["code"]) == ("RUN_ERROR", "cancelled")


async def test_a_second_reader_that_leaves_stops_nothing():
    agent = Slow()
    given = asked("x")
    async with serving(agent.answer) as http, streaming(http, given) as first:
        await heard_of(first, until="TEXT_MESSAGE_CONTENT")
        async with streaming(http, given) as second:
            await heard_of(second, until="TEXT_MESSAGE_CONTENT")
        agent.may_go_on.set()
        rest = await heard_of(first)
    assert text_of(rest) == "two"
    assert agent.ends.get_nowait() is False


async def test_a_busy_agent_says_when_to_try_again():
    agent = Slow()
    options = ServerOptions(limits=Limits(runs=1, queued_runs=0))
    async with serving(agent.answer, options=options) as http:
        async with streaming(http, asked("x")) as response:
            await heard_of(response, until="TEXT_MESSAGE_CONTENT")
            refused = await http.post("/ag-ui", json=asked("y", thread="other"))
        assert await agent.ends.get() is True
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")


async def test_a_thread_belongs_to_its_caller():
    async with serving(options=TOKENS) as http:
        first = await run(http, "ASK", run="1", headers=ANN)
        stolen = await run(http, resume=resuming(first.interrupt, "x"), headers=BOB)
        same = await run(http, "hello", run="1", headers=BOB)
        second = await run(http, resume=resuming(first.interrupt, "Rome"), headers=ANN)
    assert stolen.last["code"] == "interrupt_unknown"
    assert (same.text, second.text) == ("worked on hello", "took Rome")


@pytest.mark.parametrize("callers", [(ANN, BOB), (ANN, ANN)])
async def test_concurrent_threads_hear_only_themselves(callers):
    async def asking(request):
        answer = yield InputRequired(f"and {request.text}?")
        yield f"{request.owner} {request.context_id} {request.text} {answer.text}"

    async def talk(http, headers, thread):
        word = f"{headers['Authorization'][-1]}{thread}"
        first = await run(http, word, thread=thread, headers=headers)
        assert first.interrupt["message"] == f"and {word}?"
        resume = resuming(first.interrupt, f"answer {word}")
        second = await run(http, thread=thread, headers=headers, resume=resume)
        return word, second.text

    async with serving(asking, options=TOKENS) as http:
        talks = [
            talk(http, headers, f"{number}" if callers[0] is not callers[1] else f"{n}.{number}")
            for n, headers in enumerate(callers)
            for number in range(10)
        ]
        for word, text in await asyncio.gather(*talks):
            owner = {"a": "ann", "b": "bob"}[word[0]]
            assert text == f"{owner} {word[1:]} {word} answer {word}"


@pytest.mark.parametrize("thread", ["../x", "ä\n ", "a\0b", "x" * 500])
async def test_any_name_is_a_thread(thread, any_storage):
    async with serving(options=ServerOptions(storage=any_storage)) as http:
        first = await run(http, "ASK", thread=thread)
        if first.last["type"] == "RUN_FINISHED":
            second = await run(http, thread=thread, resume=resuming(first.interrupt, "Rome"))
            assert second.text == "took Rome"
        else:
            assert "\0" in thread
