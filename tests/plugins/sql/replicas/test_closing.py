"""Messages to a process that is shutting down are not started there."""

from __future__ import annotations

import asyncio

import pytest
from a2a_adapters_sql.messages import AcceptMessage, ForgetMessage
from a2a_adapters_sql.schema import tasks
from a2a_adapters_sql.task_rows import HANDED_OVER
from sqlalchemy import select

from a2a_adapters import InputRequired, Limits, TextDelta
from a2a_adapters.protocol.errors import ServerBusyError
from tests.plugins.sql.replicas.test_shared import (
    ANN,
    COMPLETED,
    WORKING,
    Replica,
    Steps,
    text_of,
    until,
)
from tests.plugins.sql.test_database import end_lease
from tests.plugins.sql.test_messages import message
from tests.support.postgresql import new_database

pytestmark = pytest.mark.thorough

PATIENT = Limits(sweep_seconds=0.1, shutdown_seconds=600)


class AsksLater(Steps):
    """Asks, when allowed, a question that any process can accept the answer to."""

    async def _say(self, request):
        self.calls.append(request.text)
        if request.resuming:
            yield TextDelta(f"answered {request.text}")
        else:
            await self.words.get()
            yield InputRequired("which?", durable=True)


@pytest.fixture(params=[Steps])
async def replicas(request):
    url, agent = new_database(), request.param
    async with (
        Replica(url, agent=agent(), limits=PATIENT).running() as one,
        Replica(url, agent=agent()).running() as other,
    ):
        yield one, other


async def working(replica, talk):
    """Return a running task of a context."""
    task = await replica.begin(talk, context_id=talk, message_id=f"message-{talk}")
    return await until(lambda: replica.get(task), lambda task: task.status.state == WORKING)


def sent(replica, text, talk):
    request = message(text, f"{text}-{talk}", context_id=talk)
    return asyncio.ensure_future(replica.runtime.on_message_send(request, ANN))


@pytest.mark.parametrize("replicas", [AsksLater], indirect=True)
@pytest.mark.parametrize("is_stream", [False, True])
async def test_a_follow_up_waits_for_the_stopping_process(replicas, is_stream):
    one, other = replicas
    task = await working(one, "follow-up")
    closing = asyncio.ensure_future(one.runtime.aclose())
    request = message("now", "follow-up-2", task_id=task.id)
    sending = asyncio.ensure_future(
        last_of(other.runtime.on_message_send_stream(request, ANN))
        if is_stream
        else other.runtime.on_message_send(request, ANN)
    )

    async def refused():
        return one.runtime._peers._served

    await until(refused, bool)
    one.say("ask")
    await sending
    done = await other.get(task)
    assert (done.status.state, text_of(done)) == (COMPLETED, "answered now")
    assert (one.agent.calls, other.agent.calls) == (["follow-up"], ["now"])
    await closing


async def last_of(stream):
    return [event async for event in stream][-1]


async def test_a_message_stored_during_shutdown_is_not_started(replicas, hold):
    one, other = replicas
    is_due, may_go = hold(one, AcceptMessage)
    sending = sent(one, "late", "talk")
    await is_due.wait()
    await one.runtime.aclose()
    may_go.set()
    with pytest.raises(ServerBusyError):
        await sending
    other.say("a ", "end")
    assert text_of(await sent(other, "late", "talk")) == "a "
    assert (one.agent.calls, other.agent.calls) == ([], ["late"])


@pytest.mark.parametrize("is_stream", [False, True])
async def test_a_duplicate_replaces_a_retracted_first_arrival(replicas, hold, is_stream):
    one, other = replicas
    is_stored, may_store = hold(one, AcceptMessage)
    first = sent(one, "again", "talk")
    await is_stored.wait()
    is_undone, may_undo = hold(one, ForgetMessage)
    closing = asyncio.ensure_future(one.runtime.aclose())
    may_store.set()
    await is_undone.wait()
    find = other.core.live.find

    async def find_too_late(task_id, context):
        may_undo.set()
        await asyncio.wait({first})
        return await find(task_id, context)

    other.core.live.find = find_too_late
    request = message("again", "again-talk", context_id="talk")
    duplicate = asyncio.ensure_future(
        last_of(other.runtime.on_message_send_stream(request, ANN))
        if is_stream
        else other.runtime.on_message_send(request, ANN)
    )
    other.say("a ", "end")
    await duplicate
    assert other.agent.calls == ["again"]
    with pytest.raises(ServerBusyError):
        await first
    await closing


async def test_a_task_that_a_duplicate_was_told_of_stays(replicas, hold):
    one, other = replicas

    def send(replica):
        request = message("again", "again-talk", context_id="talk")
        request.configuration.return_immediately = True
        return asyncio.ensure_future(replica.runtime.on_message_send(request, ANN))

    is_stored, may_store = hold(one, AcceptMessage)
    first = send(one)
    await is_stored.wait()
    is_undone, may_undo = hold(one, ForgetMessage)
    closing = asyncio.ensure_future(one.runtime.aclose())
    may_store.set()
    await is_undone.wait()
    told = await send(other)
    may_undo.set()
    with pytest.raises(ServerBusyError):
        await first
    await closing
    other.say("a ", "end")
    await until(lambda: other.get(told), lambda task: task.status.state == COMPLETED)
    assert (one.agent.calls, other.agent.calls) == ([], ["again"])


async def test_a_stopping_process_recovers_no_tasks(replicas, hold):
    one, other = replicas
    for replica in replicas:
        replica.stop_upkeep()
    await working(other, "talk")
    await working(one, "own")
    is_due, may_go = hold(one, AcceptMessage)
    sending = sent(one, "late", "talk")
    await is_due.wait()
    closing = asyncio.ensure_future(one.runtime.aclose())
    await other.storage.database.bus.aclose()
    await end_lease(other.storage, only=True)
    may_go.set()
    with pytest.raises(ServerBusyError):
        await sending
    one.say("end")
    await closing
    assert one.agent.calls == ["own"]


@pytest.fixture
async def hasty():
    url = new_database()
    async with Replica(url).running() as one, Replica(url).running() as other:
        yield one, other


async def test_released_tasks_of_a_context_are_taken_over_together(hasty, monkeypatch):
    one, other = hasty
    first = await working(one, "talk")
    queued = sent(one, "second", "talk")
    live, may_go = one.core.live.known(first.id), asyncio.Event()
    save = live.save

    async def later():
        await may_go.wait()
        await save()

    async def processes():
        return await other.storage.database.read(select(tasks.c.process))

    async def begun():
        return [run for run in one.core.figures.messages if run.live.task is not None]

    await until(begun, lambda found: len(found) == 2)
    monkeypatch.setattr(live, "save", later)
    closing = asyncio.ensure_future(one.runtime.aclose())
    await until(processes, lambda found: any(row.process[0] == HANDED_OVER for row in found))
    await other.core.recovery.sweep()
    assert other.agent.calls == []
    may_go.set()
    other.say("a ", "end", "b ", "end")
    with pytest.raises(ServerBusyError):
        await queued
    await closing
    assert text_of(await sent(other, "second", "talk")) == "b "
    assert other.agent.calls == ["talk", "second"]
