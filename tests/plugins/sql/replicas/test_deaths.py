"""One of two processes dies: the other recovers its tasks and readers follow."""

from __future__ import annotations

import asyncio

import pytest
from a2a.types import CancelTaskRequest, TaskState

from a2a_adapters.protocol.errors import StorageUnavailableError
from tests.plugins.sql.replicas.carriers import CARRIERS
from tests.plugins.sql.replicas.test_shared import (
    ANN,
    COMPLETED,
    WORKING,
    streamed,
    text_of,
    two_over,
    until,
)
from tests.plugins.sql.test_database import end_lease
from tests.plugins.sql.test_messages import message

pytestmark = [pytest.mark.thorough, pytest.mark.timeout(5 * 60)]


@pytest.fixture(params=CARRIERS)
async def replicas(request):
    async with two_over(request.param) as both:
        yield both


async def test_readers_follow_a_task_beyond_the_death_of_its_process(replicas):
    one, other = replicas
    task = await one.begin()
    one.say("a ")
    stream = other.follow(task)
    events = [await anext(stream)]
    await until(lambda: other.get(task), lambda task: text_of(task) == "a ")
    one.stop_upkeep()
    await one.storage.database.bus.aclose()
    await end_lease(one.storage, only=True)
    other.say("a ", "b ", "end")
    events += [event async for event in stream]
    assert streamed(events) == "a b "
    assert events[-1].status.state == COMPLETED
    assert other.agent.calls == ["go"]


async def test_a_task_of_a_dead_process_is_cancelled_once_its_lease_expires(replicas):
    one, other = replicas
    task = await one.begin()
    await until(lambda: other.get(task), lambda task: task.status.state == WORKING)
    one.stop_upkeep()
    await one.storage.database.bus.aclose()
    cancelling = asyncio.ensure_future(
        other.runtime.on_cancel_task(CancelTaskRequest(id=task.id), ANN)
    )
    await asyncio.sleep(0.1)
    assert not cancelling.done()
    other.stop_upkeep()  # prevents a takeover
    await end_lease(one.storage, only=True)
    assert (await cancelling).status.state == TaskState.TASK_STATE_CANCELED


async def test_readers_of_a_stopping_process_move_on(replicas):
    one, other = replicas
    task = await one.begin()
    stream = other.follow(task)
    events = [await anext(stream)]
    other.say("a ", "end")
    await one.runtime.aclose()
    await one.storage.aclose(1)
    events += [event async for event in stream]
    assert streamed(events) == "a "
    assert events[-1].status.state == COMPLETED


async def silent(one, other, task=None):
    """Return a task whose process is silent, and which is not taken over."""
    task = task or await one.begin()
    await until(lambda: other.get(task), lambda task: task.status.state == WORKING)
    other.stop_upkeep()
    one.stop_upkeep()
    await other.core.recovery.sweep()  # an aborted sweep may still be writing
    await one.storage.database.bus.aclose()
    return task


async def left_behind(one, other, task=None):
    """Return an orphaned task that is not taken over yet."""
    task = await silent(one, other, task)
    await end_lease(one.storage, only=True)
    return task


async def test_a_message_to_an_orphaned_task_waits_for_the_takeover(replicas):
    one, other = replicas
    task = await left_behind(one, other)
    with pytest.raises(StorageUnavailableError, match="try again"):
        await other.send("more", task, message_id="message-2")
    request = message("more", message_id="message-2", task_id=task.id)
    with pytest.raises(StorageUnavailableError, match="try again"):
        await anext(other.runtime.on_message_send_stream(request, ANN))
    assert other.agent.calls == []
    other.say("first ", "end")

    async def swept():  # the first sweep may return the result of an aborted one
        await other.sweep()
        return await other.get(task)

    done = await until(swept, lambda task: task.status.state == COMPLETED)
    assert text_of(done) == "first "
    assert other.agent.calls == ["go"]


async def test_a_streamed_message_to_a_dead_process_is_not_lost(replicas):
    one, other = replicas
    task = await silent(one, other)
    request = message("more", message_id="message-2", task_id=task.id)
    stream = other.runtime.on_message_send_stream(request, ANN)
    beginning = asyncio.ensure_future(anext(stream))
    await asyncio.sleep(0.1)
    assert not beginning.done()
    await end_lease(one.storage, only=True)
    with pytest.raises(StorageUnavailableError, match="try again"):
        await beginning
