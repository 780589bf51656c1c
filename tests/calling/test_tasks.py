"""Handles of remote tasks, and following those whose subscriptions repeat or omit text."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from starlette.responses import JSONResponse, Response

from a2a_adapters import (
    AgentReply,
    AgentRequest,
    ConfigurationError,
    InvalidInputError,
    RemoteAgent,
    RemoteOptions,
    RemoteRefusedError,
    RemoteTaskError,
    RemoteTimeoutError,
    TextDelta,
    build_app,
)
from a2a_adapters.testing import running
from tests.calling.slow_agents import QUESTION, SERVERS, Gate, our_agent, slow_agent
from tests.support.servers.broken import BreakingStream
from tests.support.servers.front import Recording
from tests.support.servers.single import message_only
from tests.support.servers.wire import COMPLETED, WORKING, TaskEvents, rpc_app, sse

on_all_servers = pytest.mark.parametrize("server", SERVERS)
LISTING = [server for server in SERVERS if server != "ours over 0.3"]


async def heard(events):
    """Return the text of a task's events, and the text of its final reply."""
    *news, reply = [event async for event in events]
    assert isinstance(reply, AgentReply)
    return "".join(event.text for event in news if isinstance(event, TextDelta)), reply.text


@on_all_servers
async def test_a_task_is_started_and_its_result_is_fetched_by_another_object(server):
    async with slow_agent(server) as (card, gate):
        async with RemoteAgent(card) as agent:
            task = await agent.start("ping")
            assert task.id
            assert task.state in {"submitted", "working"}
        async with RemoteAgent(card) as other:
            same = other.task(task.id)
            assert same.state == "unknown"
            async with asyncio.TaskGroup() as group:
                result = group.create_task(same.result())
                await gate.reached.wait()
                assert (await task.status()).state == "working"
                gate.open()
            reply = result.result()
        assert (reply.text, reply.state, reply.task_id) == ("pong", "completed", task.id)
        assert (same.state, same.context_id) == ("completed", task.context_id)


@on_all_servers
async def test_events_begin_with_what_a_late_reader_has_missed(server):
    async with slow_agent(server) as (card, gate), RemoteAgent(card) as agent:
        task = await agent.start("ping")
        await gate.reached.wait()
        events = task.events()
        assert await anext(events) == TextDelta("po")
        gate.open()
        assert await heard(events) == ("ng", "pong")
        assert await heard(task.events()) == ("pong", "pong")


@on_all_servers
async def test_a_timeout_leaves_the_task_alone(server):
    async with slow_agent(server) as (card, gate), RemoteAgent(card) as agent:
        task = await agent.start("ping")
        with pytest.raises(RemoteTimeoutError) as caught:
            await task.result(timeout=0.05)
        assert caught.value.task_id == task.id
        assert (await task.status()).state == "working"
        gate.open()
        assert (await task.result()).text == "pong"


@on_all_servers
async def test_a_timeout_cancels_the_task_on_request(server):
    async with slow_agent(server) as (card, gate), RemoteAgent(card) as agent:
        task = await agent.start("ping")
        await gate.reached.wait()
        with pytest.raises(RemoteTimeoutError):
            await task.result(timeout=0.05, cancel=True)
        assert task.state == "canceled"
        with pytest.raises(RemoteTaskError, match="cancelled"):
            await task.result()


@on_all_servers
async def test_a_question_is_answered_by_another_object(server):
    async with slow_agent(server) as (card, _), RemoteAgent(card) as agent:
        task = await agent.start("book")
        reply = await task.result()
        assert (reply.question, task.state) == (QUESTION, "input-required")
        other = agent.task(task.id)
        await other.answer("Rome")
        assert (await other.result()).text == "Booked: Rome"
        turns = await other.history()
        assert [turn.text for turn in turns if turn.role == "user"][-1] == "Rome"
        assert [part.text for each in await other.artifacts() for part in each.parts] == [
            "Booked: Rome"
        ]


@on_all_servers
async def test_a_failed_task_raises(server):
    async with slow_agent(server) as (card, _), RemoteAgent(card) as agent:
        task = await agent.start("fail")
        with pytest.raises(RemoteTaskError) as caught:
            await task.result()
        assert caught.value.state == "failed"


@on_all_servers
async def test_an_unknown_task_is_refused(server):
    async with slow_agent(server) as (card, _), RemoteAgent(card) as agent:
        task = agent.task("no-such-task")
        for call in task.result, task.status, task.cancel, task.history:
            with pytest.raises(RemoteRefusedError) as caught:
                await call()
            assert caught.value.code == -32001


@pytest.mark.parametrize("server", LISTING)
async def test_tasks_are_listed_page_by_page(server):
    async with slow_agent(server) as (card, gate), RemoteAgent(card) as agent:
        begun = datetime.now(UTC) - timedelta(seconds=1)
        asked = await agent.start("book")
        gate.open()
        done = [await agent.start(f"ping {number}") for number in range(60)]
        await asyncio.gather(*(task.result() for task in done))

        async def ids(**options):
            return {task.id async for task in agent.tasks(**options)}

        everything = {asked.id, *(task.id for task in done)}
        assert await ids() == await ids(since=begun) == everything
        assert await ids(state="input-required") == {asked.id}
        assert await ids(context=done[0].context_id) == {done[0].id}
        assert await ids(since=begun + timedelta(hours=1)) == set()
        [waiting] = [task async for task in agent.tasks(state="input-required")]
        assert (waiting.state, waiting.context_id) == ("input-required", asked.context_id)
        with pytest.raises(InvalidInputError, match="no state 'done'"):
            await ids(state="done")


async def test_agents_of_an_older_version_cannot_list_tasks():
    async with slow_agent("ours over 0.3") as (card, _), RemoteAgent(card) as agent:
        with pytest.raises(RemoteRefusedError, match="ListTasks is not supported"):
            await anext(agent.tasks())


@pytest.mark.parametrize("after", [1, 2])
async def test_a_broken_connection_loses_and_doubles_nothing(after):
    server = BreakingStream(after, breaks=2)
    async with running(server) as url, RemoteAgent(url) as agent:
        task = await agent.start("ping")
        assert await heard(task.events()) == ("pong: ping", "pong: ping")
    assert server.methods.count("SendMessage") == 1


class Restarting(Recording):
    """Is away for some requests when it is told so."""

    away = 0

    async def __call__(self, scope, receive, send):
        if scope["type"] == "http" and self.away:
            self.away -= 1
            await Response(status_code=503)(scope, receive, send)
            return
        await super().__call__(scope, receive, send)


@pytest.mark.parametrize("retries", [0, 1])
async def test_waiting_for_a_task_outlasts_a_restart_of_its_agent(retries):
    gate = Gate()
    front = Restarting(our_agent(gate))
    options = RemoteOptions(retries=retries)
    async with running(front) as url, RemoteAgent(url, options=options) as agent:
        task = await agent.start("ping")
        await gate.reached.wait()
        front.away = 6
        gate.open()
        assert (await task.result(60)).text == "pong"
        assert front.away == 0


async def test_waiting_for_an_agent_that_stays_away_ends_with_its_timeout():
    gate = Gate()
    front = Restarting(our_agent(gate))
    async with running(front) as url, RemoteAgent(url) as agent:
        task = await agent.start("ping")
        front.away = 1000
        with pytest.raises(RemoteTimeoutError):
            await task.result(0.5)
        front.away = 0
        gate.open()
        assert (await task.result(60)).text == "pong"


async def test_an_agent_on_the_sdk_of_0_3(sdk_v03_url):
    async with RemoteAgent(sdk_v03_url) as agent:
        task = await agent.start("ping")
        assert await heard(agent.task(task.id).events()) == ("pong: ping", "pong: ping")
        asked = await agent.start("book")
        assert (await asked.result()).question == QUESTION
        await asked.answer("Rome")
        assert (await asked.result()).text == "Booked: Rome"


async def test_an_agent_may_answer_with_a_bare_message():
    async with running(message_only()) as url, RemoteAgent(url) as agent:
        task = await agent.start("ping")
        assert task.id == ""
        assert (await task.result()).text == "pong: ping"
        with pytest.raises(InvalidInputError, match="without a task"):
            agent.task(task.id)


@pytest.mark.parametrize("seconds", [0, -1, float("nan")])
async def test_a_timeout_is_positive(seconds):
    with pytest.raises(ConfigurationError, match="timeout"):
        await RemoteAgent("http://127.0.0.1:9").task("t1").result(seconds)


async def test_blocking_code_has_the_same_operations():
    async with slow_agent("ours") as (card, _):
        agent = RemoteAgent(card)

        def work():
            task = agent.start_sync("book")
            assert task.result_sync().question == QUESTION
            task.answer_sync("Rome")
            assert [*task.events_sync()][-1].text == task.status_sync().text == "Booked: Rome"
            assert [each.id for each in agent.tasks_sync()] == [task.id]
            slow = agent.start_sync("ping")
            assert slow.cancel_sync().state == "canceled"
            agent.close()

        await asyncio.to_thread(work)


async def test_concurrent_callers_get_their_own_results():
    async def echo(text: str) -> str:
        return text

    async with running(build_app(echo)) as url, RemoteAgent(url) as agent:
        tasks = await asyncio.gather(*(agent.start(f"message {n}") for n in range(20)))
        replies = await asyncio.gather(*(task.result() for task in tasks))
    assert [reply.text for reply in replies] == [f"message {n}" for n in range(20)]


async def test_a_skill_is_sent_as_metadata():
    def skill(request: AgentRequest) -> str:
        return str(request.metadata.get("skill_id"))

    async with running(build_app(skill)) as url, RemoteAgent(url) as agent:
        assert (await agent.send("hello", skill="greet", metadata={"a": 1})).text == "greet"
        assert (await (await agent.start("hello", skill="greet")).result()).text == "greet"


class Subscribed:
    """Answers with `pong`. A subscription begins with some events and ends with the last chunk.

    Args:
        first: Returns the first events of a subscription.
    """

    def __init__(self, first):
        self._first = first
        self._is_done = False
        self.app = rpc_app(self._answer)

    async def _answer(self, call):
        if call.method == "SendMessage":
            self._events = TaskEvents.answering(call)
            return JSONResponse(call.result(self._events.task(WORKING)))
        if call.method == "GetTask":
            state, texts = (COMPLETED, ["po", "ng"]) if self._is_done else (WORKING, [])
            return JSONResponse(call.result(self._events.task(state, *texts)["task"]))
        if self._is_done:
            return JSONResponse(call.error(-32004, "The task is over"))
        self._is_done = True
        events = [*self._first(self._events), self._events.chunk("ng")]
        return sse(self._results(call, [*events, self._events.status(COMPLETED)]))

    async def _results(self, call, events):
        for event in events:
            yield call.result(event)


BEGINNINGS = {
    "complete": lambda events: [events.task(WORKING, "po")],
    "the chunk is in the task already": lambda events: [events.task(WORKING, "po", "ng")],
    "no task": lambda events: [],
    "no task, a status": lambda events: [events.status(WORKING)],
    "the whole artifact once more": lambda events: [
        events.task(WORKING, "po", "ng"),
        events.chunk("po", append=False),
    ],
}


@pytest.mark.parametrize("beginning", BEGINNINGS)
async def test_text_is_neither_repeated_nor_lost(beginning):
    server = Subscribed(BEGINNINGS[beginning])
    async with running(server.app) as url, RemoteAgent(url) as agent:
        task = await agent.start("ping")
        *news, reply = [event async for event in task.events()]
    assert "".join(event.text for event in news if isinstance(event, TextDelta)) == "pong"
    assert reply.text == "pong"
