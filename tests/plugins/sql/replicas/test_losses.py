"""After losses on the bus, callers get an answer or a request to retry."""

from __future__ import annotations

import asyncio
import gc

import pytest
from a2a.types import CancelTaskRequest, ListTasksRequest, Task, TaskState
from a2a_adapters_sql.schema import tasks
from sqlalchemy import select

from a2a_adapters.protocol.errors import StorageUnavailableError
from tests.plugins.sql.replicas.carriers import CARRIERS, Postgresql
from tests.plugins.sql.replicas.test_deaths import left_behind
from tests.plugins.sql.replicas.test_shared import (
    ANN,
    COMPLETED,
    Replica,
    Steps,
    streamed,
    text_of,
    two_over,
    until,
)
from tests.plugins.sql.test_messages import message
from tests.support.postgresql import new_database

pytestmark = pytest.mark.thorough

FAILED = TaskState.TASK_STATE_FAILED
INPUT_REQUIRED = TaskState.TASK_STATE_INPUT_REQUIRED


@pytest.fixture
async def url():
    return new_database()


@pytest.fixture
async def replicas(url):
    async with Replica(url).running() as one, Replica(url).running() as other:
        yield one, other


async def answering(one, other, url, message_id):
    """Answer a task of another process, losing the response on the bus."""
    asked = await one.runtime.on_message_send(message("ask"), ANN)
    peers, is_heard = other.runtime._peers, asyncio.Event()

    def receive(letter):
        peers._receive(letter)
        is_heard.set()

    other.storage.database.bus.listen("steps", receive, peers._lose)
    sending = asyncio.ensure_future(other.send("this", asked, message_id=message_id))
    await is_heard.wait()
    await until(lambda: one.get(asked), lambda task: text_of(task) == "heard this ")
    Postgresql(url).cut_listeners()
    return sending


async def test_a_lost_response_to_a_message_without_id_is_an_error(replicas, url):
    one, other = replicas
    sending = await answering(one, other, url, "m2")
    with pytest.raises(StorageUnavailableError):
        await sending
    one.say("end")


async def test_a_message_with_a_lost_response_is_repeated_and_answered_once(replicas, url):
    one, other = replicas
    sending = await answering(one, other, url, "message-2")
    one.say("once ", "end")
    done = await sending
    assert done.status.state == COMPLETED
    assert text_of(done) == "heard this once "


async def test_a_lost_streamed_message_is_repeated(replicas):
    one, other = replicas
    asked = await one.runtime.on_message_send(message("ask"), ANN)
    peers, bus = one.runtime._peers, one.storage.database.bus
    missed = asyncio.Event()

    def miss(_letter):
        missed.set()
        bus.listen("steps", peers._receive, peers._lose)

    bus.listen("steps", miss, peers._lose)
    request = message("that", message_id="m2", task_id=asked.id)
    stream = other.runtime.on_message_send_stream(request, ANN)
    beginning = asyncio.ensure_future(anext(stream))
    await missed.wait()
    other.runtime._peers._lose()
    one.say("end")
    events = [await beginning] + [event async for event in stream]
    assert streamed(events) == "heard that "
    assert events[-1].status.state == COMPLETED


async def test_a_repeated_question_is_noticed(replicas):
    one, other = replicas
    asked = await one.runtime.on_message_send(message("later"), ANN)
    stream = one.follow(asked)
    first = await anext(stream)
    assert first.status.state == INPUT_REQUIRED
    again = await other.send("again", asked, message_id="message-2")
    assert again.status.state == INPUT_REQUIRED
    events = [event async for event in stream]
    assert events[-1].status == again.status


class Replying(Steps):
    """Its tasks are unknown before they are announced."""

    may_reply = True


async def test_an_immediately_repeated_message_waits_for_its_task(url):
    async with (
        Replica(url, agent=Replying()).running() as one,
        Replica(url, agent=Replying()).running() as other,
    ):
        first = asyncio.ensure_future(one.begin())
        await until(lambda: one.storage.database.read(select(tasks.c.state)), bool)
        again = asyncio.ensure_future(other.begin())
        await asyncio.wait([again], timeout=0.1)
        one.say("end")
        assert (await again).id == (await first).id
        assert (await again).status.state != TaskState.TASK_STATE_UNSPECIFIED


async def test_a_deaf_process_does_not_block_lists(replicas):
    one, other = replicas
    task = await one.begin()
    await one.storage.database.bus.aclose()
    listed = await other.runtime.on_list_tasks(ListTasksRequest(), ANN)
    assert [each.id for each in listed.tasks] == [task.id]
    one.say("end")


async def test_it_is_read_from_there_as_soon_as_its_task_is_announced(url):
    async with (
        Replica(url, agent=Replying()).running() as one,
        Replica(url, agent=Replying()).running() as other,
    ):
        first = asyncio.ensure_future(one.runtime.on_message_send(message(), ANN))
        await until(lambda: one.storage.database.read(select(tasks.c.state)), bool)
        stream = other.runtime.on_message_send_stream(message(), ANN)
        beginning = asyncio.ensure_future(anext(stream))
        await asyncio.wait([beginning], timeout=0.1)
        one.say("a ", "end")
        events = [await beginning] + [event async for event in stream]
        assert streamed(events) == "a "
        assert events[-1].status == (await first).status


async def test_it_is_read_beyond_a_takeover(url):
    async with Replica(url).running() as one, Replica(url).running() as other:
        first = one.runtime.on_message_send_stream(message("go"), ANN)
        task = await left_behind(one, other, await anext(first))
        await first.aclose()
        stream = other.runtime.on_message_send_stream(message("go"), ANN)
        beginning = asyncio.ensure_future(anext(stream))
        await asyncio.wait([beginning], timeout=0.1)

        async def resumed():
            await other.sweep()
            return other.agent.calls

        await until(resumed, bool)
        other.say("a ", "end")
        events = [await beginning] + [event async for event in stream]
        assert streamed(events) == "a "
        assert events[-1].status.state == COMPLETED
        assert {event.id for event in events if isinstance(event, Task)} == {task.id}


async def test_a_task_that_cannot_be_resumed_ends_after_an_outage(url, monkeypatch):
    async with Replica(url).running() as one, Replica(url).running() as other:
        other.agent.resumes = False
        task = await left_behind(one, other)
        tasks = other.storage.of("steps").tasks

        async def no_answer(_tasks, _before):
            raise OSError("the storage is away")

        async def taken():  # the first sweep may return the result of an aborted one
            with pytest.raises(OSError, match="is away"):
                await other.sweep()
            return other.core.recovery._left

        with monkeypatch.context() as away:
            away.setattr(type(tasks), "waiting_since", no_answer)
            await until(taken, bool)
        gc.collect()  # reports coroutines that were never awaited
        await other.sweep()
        assert (await other.get(task)).status.state == FAILED


@pytest.mark.parametrize("kind", ["subscribed", "sent again"])
async def test_it_is_read_during_a_takeover(url, kind, monkeypatch):
    async with Replica(url).running() as one, Replica(url).running() as other:
        task = await left_behind(one, other)
        is_taken, goes_on = asyncio.Event(), asyncio.Event()
        adopt = other.core.live.adopt

        async def late(owner, stored):
            is_taken.set()
            await goes_on.wait()
            return await adopt(owner, stored)

        async def resumed():
            await other.sweep()
            return other.agent.calls

        monkeypatch.setattr(other.core.live, "adopt", late)
        sweeping = asyncio.ensure_future(until(resumed, bool))
        await is_taken.wait()
        again = other.runtime.on_message_send_stream(message("go"), ANN)
        stream = other.follow(task) if kind == "subscribed" else again
        beginning = asyncio.ensure_future(anext(stream))
        await asyncio.wait([beginning], timeout=0.2)
        goes_on.set()
        await sweeping
        events = [await beginning]
        other.say("a ", "end")
        events += [event async for event in stream]
        await again.aclose()
        assert streamed(events) == "a "
        assert events[-1].status.state == COMPLETED


async def test_during_a_bus_outage_remote_tasks_are_refused_and_streams_wait():
    async with two_over("redis") as (one, other):
        task = await one.begin()
        carrier = CARRIERS["redis"](None)
        stream = other.follow(task)
        await anext(stream)
        with carrier.frozen():
            asking = [
                other.get(task),
                other.runtime.on_cancel_task(CancelTaskRequest(id=task.id), ANN),
                other.send("more", task, message_id="message-2"),
                anext(other.follow(task)),
            ]
            for error in await asyncio.gather(*asking, return_exceptions=True):
                assert isinstance(error, StorageUnavailableError), error
                assert "cannot be reached" in str(error)
            assert other.storage.away == "bus"
            one.say("end")
        events = [event async for event in stream]
        assert events[-1].status.state == COMPLETED
        assert (await other.get(task)).status.state == COMPLETED
