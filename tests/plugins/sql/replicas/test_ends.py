"""A terminal state is sent only after it is stored."""

from __future__ import annotations

import asyncio

import pytest
from a2a_adapters_sql.task_rows import SaveTask

from tests.plugins.sql.replicas.test_shared import ANN, COMPLETED, Replica, streamed, until
from tests.plugins.sql.test_messages import message
from tests.support.postgresql import new_database

pytestmark = pytest.mark.thorough


@pytest.fixture
async def replica():
    async with Replica(new_database()).running() as one:
        yield one


@pytest.fixture
async def ending(replica, hold):
    """A stream whose terminal state is stored when the test allows it."""
    stream = replica.runtime.on_message_send_stream(message("go", "message-1"), ANN)
    events = [await anext(stream)]
    replica.say("a ")
    live = replica.core.live.known(events[0].id)

    async def page():
        return live.page

    while streamed(events) != "a ":
        events.append(await anext(stream))
    await until(page, lambda page: not page.is_dirty and not page.is_saving)
    is_due, may_go = hold(replica, SaveTask)
    replica.say("end")
    await is_due.wait()
    yield events, stream, may_go
    may_go.set()


async def test_its_run_is_not_orphaned(replica, ending):
    events, stream, may_go = ending
    for _ in range(3):
        await replica.core.messages.abandon_lingering()
    may_go.set()
    events += [event async for event in stream]
    assert events[-1].status.state == COMPLETED
    assert (await replica.get(events[0])).status.state == COMPLETED


async def test_a_repeated_message_returns_the_end_once_it_is_stored(replica, ending):
    *_, may_go = ending
    again = replica.runtime.on_message_send_stream(message("go", "message-1"), ANN)
    beginning = asyncio.ensure_future(anext(again))
    await asyncio.wait([beginning], timeout=0.2)
    assert not beginning.done()
    may_go.set()
    assert (await beginning).status.state == COMPLETED
