"""Backpressure of slow readers at other processes."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from a2a_adapters_sql.replicas import batches, notify

from a2a_adapters import TextDelta
from a2a_adapters.protocol.errors import ReaderBehindError
from tests.plugins.sql.replicas.test_shared import LIMITS, Replica, Steps, streamed, until
from tests.support.postgresql import new_database

pytestmark = pytest.mark.thorough

CHUNK = 10_000
CHUNKS = 2_000
PATIENT = replace(LIMITS, subscriber_bytes=1024 * 1024, subscriber_seconds=600, lease_seconds=600)


@pytest.fixture(autouse=True)
def a_patient_bus(monkeypatch):
    """Avoid losses on a busy machine, after which readers get the whole task again."""
    monkeypatch.setattr(notify, "ANSWER_SECONDS", 600)
    monkeypatch.setattr(batches, "ANSWER_SECONDS", 600)


class Flood(Steps):
    """Sends twenty megabytes when allowed."""

    made = 0

    async def _say(self, request):
        yield TextDelta("begun ")
        await self.words.get()
        for number in range(CHUNKS):
            self.made += 1
            yield TextDelta(_chunk(number))


def _chunk(number):
    return f"{number} ".ljust(CHUNK, ".")


async def at_rest(agent):
    """Wait until the agent pauses."""
    before = -1
    while agent.made != before or not before:
        before = agent.made
        await asyncio.sleep(1)
    return before


def flooding(limits):
    url = new_database()
    return (
        Replica(url, agent=Flood(), limits=limits).running(),
        Replica(url, agent=Flood(), limits=limits).running(),
    )


async def begun(one, other):
    """Return a started stream of a task at another process."""
    task = await one.begin()
    await until(lambda: one.get(task), lambda task: task.artifacts)
    stream = other.follow(task)
    return stream, [await anext(stream)]


async def test_the_agent_waits_for_a_remote_reader():
    running = flooding(PATIENT)
    async with running[0] as one, running[1] as other:
        stream, events = await begun(one, other)
        one.say("go")
        made = await at_rest(one.agent)
        assert made < CHUNKS // 2
        events += [event async for event in stream]
        assert one.agent.made == CHUNKS
        assert streamed(events) == "begun " + "".join(map(_chunk, range(CHUNKS)))


async def test_a_stalled_remote_reader_is_dropped_without_blocking_others():
    running = flooding(replace(PATIENT, subscriber_seconds=0.5))
    async with running[0] as one, running[1] as other:
        stream, _ = await begun(one, other)
        one.say("go")

        async def made():
            return one.agent.made

        await until(made, lambda made: made == CHUNKS)
        with pytest.raises(ReaderBehindError):
            [event async for event in stream]
