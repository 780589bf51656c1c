"""An accepted answer keeps its turn in the context while it waits for a slot."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from a2a.types import TaskState

from tests.plugins.sql.replicas.test_shared import (
    COMPLETED,
    LIMITS,
    WORKING,
    Replica,
    text_of,
    until,
)
from tests.plugins.sql.replicas.test_turns import asked, runs_of, sent, stored_beside
from tests.support.postgresql import new_database

pytestmark = pytest.mark.thorough

SUBMITTED = TaskState.TASK_STATE_SUBMITTED


@pytest.fixture
def url():
    return new_database()


def full(url):
    """Return a process with a single slot."""
    return Replica(url, limits=replace(LIMITS, runs=1)).running()


async def answered(replica, question, beside):
    """Answer a question at a busy process and wait until another one knows; return the call."""
    busy = await replica.begin("busy", context_id="busy", message_id="message-busy")
    await until(lambda: replica.get(busy), lambda task: task.status.state == WORKING)
    answering = asyncio.ensure_future(replica.send("now", question, message_id="answer-1"))
    await until(lambda: replica.get(question), lambda task: task.status.state == SUBMITTED)
    await stored_beside(beside, "talk")
    return answering


async def test_a_message_at_another_process_waits_for_an_answer_that_waits_for_a_slot(url):
    async with full(url) as one, full(url) as other:
        question = await asked(other, "talk")
        answering = await answered(other, question, one)
        second = sent(one, "beside", "talk")
        await until(runs_of(other), lambda runs: len(runs) == 3)
        other.say("end", "first ", "end", "then ", "end")
        assert text_of(await answering) == "answered now first "
        assert text_of(await second) == "then "
        assert (one.agent.calls, other.agent.calls) == ([], ["busy", "now", "beside"])


async def test_an_answer_waiting_for_a_slot_is_resumed_by_the_next_process(url):
    async with full(url) as one:
        async with full(url) as other:
            question = await asked(other, "talk")
            answering = await answered(other, question, one)
        await asyncio.wait({answering})
        assert answering.exception() is not None
        one.say("end", "end")
        done = await until(lambda: one.get(question), lambda task: task.status.state == COMPLETED)
        assert text_of(done) == "answered now "
        assert [m.message_id for m in done.history if m.role == 1][1:] == ["answer-1"]
        again = await one.send("now", question, message_id="answer-1")
        assert again.status.state == COMPLETED
        assert one.agent.calls.count("now") == 1


async def test_an_immediate_run_does_not_count_as_waiting(url):
    async with full(url) as one:
        question = await asked(one, "talk")
        answering = asyncio.ensure_future(one.send("now", question, message_id="answer-1"))
        seen = await until(
            lambda: one.get(question), lambda task: task.status.state != question.status.state
        )
        assert seen.status.state == WORKING
        one.say("end")
        await answering
