"""Messages of a context are answered in order across processes."""

from __future__ import annotations

import asyncio

import pytest
from a2a.types import ListTasksRequest
from a2a_adapters_sql.takeover import TakeOver

from a2a_adapters import TextDelta
from a2a_adapters.protocol.errors import StorageUnavailableError
from tests.plugins.sql.replicas.test_losses import INPUT_REQUIRED
from tests.plugins.sql.replicas.test_shared import (
    ANN,
    COMPLETED,
    WORKING,
    Replica,
    Steps,
    streamed,
    text_of,
    until,
)
from tests.plugins.sql.test_database import end_lease
from tests.plugins.sql.test_messages import message
from tests.support.postgresql import new_database

pytestmark = pytest.mark.thorough


@pytest.fixture
async def replicas():
    url = new_database()
    async with Replica(url).running() as one, Replica(url).running() as other:
        yield one, other


async def working(replica, text="first", **fields):
    """Return a running task of the context."""
    task = await replica.begin(text, context_id="talk", **fields)
    return await until(lambda: replica.get(task), lambda task: task.status.state == WORKING)


def sent(replica, text, number, **fields):
    request = message(text, message_id=f"message-{number}", context_id="talk", **fields)
    return asyncio.ensure_future(replica.runtime.on_message_send(request, ANN))


async def tasks(replica, count):
    """Wait for a number of tasks."""

    async def listed():
        return (await replica.runtime.on_list_tasks(ListTasksRequest(), ANN)).tasks

    await until(listed, lambda tasks: len(tasks) == count)


async def test_tasks_of_a_context_at_two_processes_run_in_sequence(replicas):
    one, other = replicas
    first = await working(one)
    second = sent(other, "second", 2)
    await tasks(other, 2)
    assert [*one.agent.calls, *other.agent.calls] == ["first"]
    one.say("a ", "end", "b ", "end")
    assert text_of(await second) == "b "
    assert text_of(await other.get(first)) == "a "
    assert (one.agent.calls, other.agent.calls) == (["first", "second"], [])


async def test_the_next_task_runs_anywhere_if_none_is_running(replicas):
    one, other = replicas
    one.say("end")
    await sent(one, "first", 1)
    other.say("end")
    await sent(other, "second", 2)
    assert (one.agent.calls, other.agent.calls) == (["first"], ["second"])


async def test_a_streamed_message_waits_for_its_turn(replicas):
    one, other = replicas
    await working(one)
    request = message("second", message_id="message-2", context_id="talk")
    stream = other.runtime.on_message_send_stream(request, ANN)
    events = [await anext(stream)]
    assert one.agent.calls == ["first"]
    one.say("end", "b ", "end")
    events += [event async for event in stream]
    assert streamed(events) == "b "
    assert events[-1].status.state == COMPLETED


async def test_a_message_waits_for_the_takeover_of_a_dead_process(replicas):
    one, other = replicas
    await working(one)
    other.stop_upkeep()
    one.stop_upkeep()
    await one.storage.database.bus.aclose()
    second = sent(other, "second", 2)
    await end_lease(one.storage, only=True)
    other.say("end", "b ", "end")
    assert text_of(await second) == "b "
    assert other.agent.calls == ["first", "second"]


async def test_an_answer_for_any_process_waits_for_the_context(replicas):
    one, other = replicas
    asked = await sent(other, "later", 1)
    assert asked.status.state == INPUT_REQUIRED
    await working(one, "beside", message_id="message-2")
    answered = sent(other, "now", 3, task_id=asked.id)

    async def runs():
        return one.core.figures.messages

    await until(runs, lambda runs: len(runs) == 2)
    one.say("end", "end")
    assert (await answered).status.state == COMPLETED
    assert one.agent.calls == ["beside", "now"]
    assert other.agent.calls == ["later"]


class Alone(Steps):
    """Records concurrent calls."""

    running = 0
    most = 0

    def stream(self, request):
        return self._alone(request)

    async def _alone(self, request):
        self.calls.append(request.text)
        Alone.running += 1
        Alone.most = max(Alone.most, Alone.running)
        await asyncio.sleep(0)
        yield TextDelta("done")
        Alone.running -= 1


async def test_concurrent_messages_at_two_processes_never_run_concurrently():
    url = new_database()
    async with (
        Replica(url, agent=Alone()).running() as one,
        Replica(url, agent=Alone()).running() as other,
    ):
        replicas = [one, other] * 10
        done = await asyncio.gather(*(sent(r, f"{n}", n) for n, r in enumerate(replicas)))
        assert {task.status.state for task in done} == {COMPLETED}
        assert sorted([*one.agent.calls, *other.agent.calls], key=int) == [
            f"{number}" for number in range(20)
        ]
        assert Alone.most == 1


async def test_a_message_waits_for_the_task_of_a_stopped_process(replicas):
    one, other = replicas
    await working(one)
    await one.runtime.aclose()
    await one.storage.aclose(1)
    other.say("end", "b ", "end")
    assert text_of(await sent(other, "second", 2)) == "b "
    assert other.agent.calls == ["first", "second"]


async def test_a_message_waits_for_a_running_takeover(replicas, monkeypatch):
    one, other = replicas
    await working(one)
    resume, taken, may_resume = other.core.messages.resume, asyncio.Event(), asyncio.Event()

    async def resume_later(live):
        taken.set()
        await may_resume.wait()
        await resume(live)

    monkeypatch.setattr(other.core.messages, "resume", resume_later)
    await end_lease(one.storage, only=True)
    await taken.wait()
    second = sent(other, "second", 2)
    await tasks(other, 2)
    other.say("end", "b ", "end")
    may_resume.set()
    assert text_of(await second) == "b "
    assert other.agent.calls == ["first", "second"]


async def test_a_message_waits_for_tasks_of_an_aborted_sweep(replicas, monkeypatch):
    one, other = replicas
    await working(one)
    for replica in replicas:
        replica.stop_upkeep()
    await other.core.recovery.sweep()  # reads the result of the aborted sweep
    await end_lease(one.storage, only=True)
    commits, has_begun = other.storage.database.commits, asyncio.Event()
    transaction = commits._transaction

    async def noted(writes):
        if any(isinstance(write, TakeOver) for write in writes):
            has_begun.set()
        return await transaction(writes)

    monkeypatch.setattr(commits, "_transaction", noted)
    sweep = asyncio.ensure_future(other.core.recovery.sweep())
    await has_begun.wait()
    sweep.cancel()

    async def has_taken():
        return other.core._storage.has_left_behind

    await until(has_taken, bool)
    other.say("end", "b ", "end")
    assert text_of(await sent(other, "second", 2)) == "b "
    assert other.agent.calls == ["first", "second"]


async def test_a_message_waits_for_a_failed_recovery(replicas, monkeypatch):
    one, other = replicas
    await working(one)
    one.stop_upkeep()

    async def fail(_live):
        raise OSError("not yet")

    with monkeypatch.context() as broken:
        broken.setattr(other.core.messages, "resume", fail)
        await end_lease(one.storage, only=True)
        await one.storage.database.bus.aclose()
        with pytest.raises(StorageUnavailableError):
            await sent(other, "second", 2)
        assert other.agent.calls == []
    other.say("end", "b ", "end")
    assert text_of(await sent(other, "second", 2)) == "b "
    assert other.agent.calls == ["first", "second"]
