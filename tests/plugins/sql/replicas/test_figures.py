"""Metrics and logs of takeovers, storage and bus."""

from __future__ import annotations

import asyncio

import pytest
from a2a_adapters_sql.figures import StorageFigures
from a2a_adapters_sql.lease import process_name
from a2a_adapters_sql.takeover import ATTEMPT

from a2a_adapters import ServerOptions, build_app
from a2a_adapters.testing import connect, running, send, user_message
from tests.observability.test_observability import figures
from tests.plugins.sql.replicas.test_shared import ANN, COMPLETED, Replica, until
from tests.plugins.sql.test_database import end_lease
from tests.plugins.sql.test_messages import message
from tests.support.postgresql import new_database

pytestmark = pytest.mark.thorough


@pytest.fixture
async def replicas():
    url = new_database()
    async with Replica(url, None).running() as one, Replica(url, None).running() as other:
        yield one, other


def takeovers(caplog):
    return [record for record in caplog.records if hasattr(record, "taken_by")]


async def completed(replica, task):
    return await until(lambda: replica.get(task), lambda task: task.status.state == COMPLETED)


async def test_a_takeover_is_logged_with_both_processes_and_counted(replicas, caplog):
    one, other = replicas
    task = await one.begin()
    assert (one.runtime.figures.owned_tasks, other.runtime.figures.owned_tasks) == (1, 0)
    one.stop_upkeep()
    await end_lease(one.storage, only=True)
    other.say("end")
    await completed(other, task)
    [line] = takeovers(caplog)
    assert (line.task_id, line.owned_by, line.taken_by) == (task.id, *[process_name()] * 2)
    assert line.getMessage() == (
        f"task {task.id} of process {process_name()} was resumed by process {process_name()}"
    )
    assert other.runtime.figures.takeovers == {"resumed": 1}
    await one.runtime.locator.let_go()
    assert one.runtime.figures.lost_tasks == 1


async def test_a_released_task_is_logged_with_both_processes(replicas, caplog):
    one, other = replicas
    task = await one.begin()
    other.say("end")
    await one.runtime.aclose()
    await one.storage.aclose(1)
    await completed(other, task)
    [line] = takeovers(caplog)
    assert line.owned_by == process_name()
    [left] = [each for each in (await rows(other)) if each.id == task.id]
    assert left.epoch == ATTEMPT  # not a takeover from a dead process


async def test_every_process_counts_the_stored_questions(replicas):
    one, other = replicas
    one.stop_upkeep()
    asked = await one.runtime.on_message_send(message("later"), ANN)
    await other.sweep()
    assert other.runtime.figures.waiting == 1
    other.say("end")
    await other.send("this", asked)
    await other.sweep()
    assert other.runtime.figures.waiting == 0


async def rows(replica):
    from a2a_adapters_sql.schema import tasks
    from sqlalchemy import select

    return await replica.storage.database.read(select(tasks.c.id, tasks.c.epoch))


async def test_storage_and_bus_have_metrics():
    async def echo(text):
        return text

    options = ServerOptions(metrics=True, storage=new_database())
    async with running(build_app(echo, options=options)) as url, connect(url) as client:
        await send(client, user_message("hello"))
        while True:
            found = await figures(url)
            if found["a2a_bus_lag_seconds",] > 0 and found["a2a_storage_queue",] == 0:
                break
            await asyncio.sleep(0.05)
    assert found["a2a_storage_seconds_count", "write"] > 0
    assert found["a2a_storage_seconds_count", "read"] > 0
    assert found["a2a_bus_losses_total",] >= 1
    assert found["a2a_leases_lost_total",] == 0
    assert found["a2a_owned_tasks",] == found["a2a_lost_tasks_total",] == 0


def test_the_lag_grows_without_heartbeats():
    seen = StorageFigures()
    assert seen.bus_lag == 0
    seen.ask_bus()
    seen.ask_bus()
    first = seen.bus_lag
    while seen.bus_lag == first:
        pass
    seen.hear_bus()
    seen.hear_bus()
    assert seen.bus_lag > first
    assert seen.bus_lag == seen.bus_lag
