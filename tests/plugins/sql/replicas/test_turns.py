"""An answer and a new message at two processes never run concurrently."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from a2a_adapters_functions import adapt
from a2a_adapters_sql.messages import AcceptMessage
from a2a_adapters_sql.task_rows import SaveTask
from a2a_adapters_sql.turns import runners
from sqlalchemy import literal

from a2a_adapters import InputRequired, TextDelta
from tests.plugins.sql.replicas.test_losses import INPUT_REQUIRED
from tests.plugins.sql.replicas.test_shared import (
    ANN,
    COMPLETED,
    LIMITS,
    WORKING,
    Replica,
    Steps,
    streamed,
    text_of,
    until,
)
from tests.plugins.sql.test_messages import message
from tests.support.postgresql import new_database

pytestmark = pytest.mark.thorough

ROUNDS = 10


@pytest.fixture(scope="module")
def url():
    return new_database()


@pytest.fixture
async def replicas(url):
    patient = replace(LIMITS, lease_seconds=600)
    one, other = Replica(url, limits=patient), Replica(url, limits=patient)
    async with one.running(), other.running():
        yield one, other


async def asked(replica, talk):
    """Return a waiting task of the context that any process can resume."""
    question = message("later", f"{id(replica)}-{talk}", context_id=talk)
    task = await replica.runtime.on_message_send(question, ANN)
    assert task.status.state == INPUT_REQUIRED
    replica.agent.calls.clear()
    return task


async def begun(replica, talk):
    """Return a new running task of the context."""
    task = await replica.begin("beside", context_id=talk, message_id=f"beside-{talk}")
    return await until(lambda: replica.get(task), lambda task: task.status.state == WORKING)


def sent(replica, text, talk):
    request = message(text, f"{text}-{talk}", context_id=talk)
    return asyncio.ensure_future(replica.runtime.on_message_send(request, ANN))


async def stored_beside(replica, talk):
    """Wait until a running task of the context at another process is stored.

    Callers learn of a running task before that is stored.
    """
    database = replica.storage.database
    query = runners("steps", ANN.user.user_name, literal(talk), database.process_id)
    await until(lambda: database.read(query), bool)


def runs_of(replica):
    async def runs():
        return replica.core.figures.messages

    return runs


async def book(text: str):
    city = yield InputRequired("Where to?")
    day = yield InputRequired(f"When to {city.text}?")
    yield f"{city.text} on {day.text}"


async def test_a_generator_that_missed_an_answer_does_not_take_the_next(url):
    one, other = (Replica(url, agent=adapt(book, durable=True)) for _ in range(2))
    async with one.running(), other.running():
        task = await one.runtime.on_message_send(message("go"), ANN)
        await other.send("Rome", task)
        assert text_of(await one.send("Monday", task)) == "Rome on Monday"


async def test_an_answer_waits_for_a_message_at_another_process(replicas, hold):
    one, other = replicas
    question = await asked(other, "waits")
    is_due, may_go = hold(other, SaveTask)
    answering = asyncio.ensure_future(other.send("now", question, message_id="answer-waits"))
    await is_due.wait()
    beside = await begun(one, "waits")
    may_go.set()
    await until(runs_of(one), lambda runs: len(runs) == 2)
    one.say("first ", "end", "then ", "end")
    done = await answering
    assert (done.status.state, text_of(done)) == (COMPLETED, "answered now then ")
    assert [item.message_id for item in done.history if item.role == 1][1:] == ["answer-waits"]
    assert text_of(await other.get(beside)) == "first "
    assert (one.agent.calls, other.agent.calls) == (["beside", "now"], [])


async def test_a_streamed_answer_waits_for_a_message_at_another_process(replicas, hold):
    one, other = replicas
    question = await asked(other, "streams")
    is_due, may_go = hold(other, SaveTask)
    request = message("now", task_id=question.id, message_id="answer-streams")
    stream = other.runtime.on_message_send_stream(request, ANN)
    beginning = asyncio.ensure_future(anext(stream))
    await is_due.wait()
    await begun(one, "streams")
    may_go.set()
    await until(runs_of(one), lambda runs: len(runs) == 2)
    one.say("first ", "end", "then ", "end")
    events = [await beginning] + [event async for event in stream]
    assert streamed(events) == "answered now then "
    assert (one.agent.calls, other.agent.calls) == (["beside", "now"], [])


async def test_a_message_waits_for_an_answer_at_another_process(replicas, hold):
    one, other = replicas
    question = await asked(other, "behind")
    is_due, may_go = hold(one, AcceptMessage)
    second = sent(one, "beside", "behind")
    await is_due.wait()
    answering = asyncio.ensure_future(other.send("now", question, message_id="answer-behind"))
    await stored_beside(one, "behind")
    may_go.set()
    await until(runs_of(other), lambda runs: len(runs) == 2)
    other.say("first ", "end", "then ", "end")
    assert text_of(await answering) == "answered now first "
    assert text_of(await second) == "then "
    assert (one.agent.calls, other.agent.calls) == ([], ["now", "beside"])


async def test_an_answer_with_an_unknown_commit_stays_at_its_process(replicas, monkeypatch):
    one, other = replicas
    question = await asked(other, "unheard")
    parked = await one.runtime.on_message_send(message("ask", context_id="unheard"), ANN)
    commits, beside = other.storage.database.commits, []
    transaction = commits._transaction

    async def unheard(writes):
        results = await transaction(writes)
        if not beside and any(isinstance(write, SaveTask) for write in writes):
            # Waiting writes are not delayed.
            beside.append(asyncio.ensure_future(one.send("this", parked, message_id="parked-1")))
            await stored_beside(other, "unheard")
            raise OSError("the answer is lost")
        return results

    monkeypatch.setattr(commits, "_transaction", unheard)
    answering = asyncio.ensure_future(other.send("now", question, message_id="answer-unheard"))
    other.say("end")
    assert text_of(await answering) == "answered now "
    one.say("end")
    assert text_of(await beside[0]) == "heard this "
    assert (one.agent.calls, other.agent.calls) == (["ask"], ["now"])


class Alone(Steps):
    """Asks once per context; counts concurrent calls."""

    running = 0
    most = 0

    async def _say(self, request):
        self.calls.append(request.text)
        if request.text == "later" and not request.resuming:
            yield InputRequired("which?", durable=True)
        Alone.running += 1
        Alone.most = max(Alone.most, Alone.running)
        for _ in range(5):
            await asyncio.sleep(0)
        yield TextDelta("done")
        Alone.running -= 1


@pytest.fixture
async def alone(url):
    Alone.running = Alone.most = 0
    async with (
        Replica(url, agent=Alone()).running() as one,
        Replica(url, agent=Alone()).running() as other,
    ):
        yield one, other
    assert Alone.most == 1


async def test_concurrently_stored_answers_and_messages_never_run_concurrently(alone, hold):
    one, other = alone
    for number in range(ROUNDS):
        talk = f"at once {number}"
        question = await asked(one, talk)
        answer_is_due, may_answer = hold(other, SaveTask)
        message_is_due, may_begin = hold(one, AcceptMessage)
        second = sent(one, "beside", talk)
        answering = asyncio.ensure_future(other.send("now", question, message_id=talk))
        await asyncio.gather(answer_is_due.wait(), message_is_due.wait())
        may_answer.set()
        may_begin.set()
        tasks = await asyncio.gather(answering, second)
        assert {task.status.state for task in tasks} == {COMPLETED}
        assert sorted([*one.agent.calls, *other.agent.calls]) == ["beside", "now"]
        other.agent.calls.clear()


async def test_concurrent_answers_and_messages_never_run_concurrently(alone):
    one, other = alone
    for number in range(ROUNDS):
        talk = f"many {number}"
        questions = [await asked(one, talk), await asked(other, talk)]
        tasks = await asyncio.gather(
            *(sent(one, f"message-{n}", talk) for n in range(2)),
            one.send("first", questions[1], message_id=f"first-{talk}"),
            other.send("second", questions[0], message_id=f"second-{talk}"),
            sent(other, "message-2", talk),
        )
        assert {task.status.state for task in tasks} == {COMPLETED}
        calls = sorted([*one.agent.calls, *other.agent.calls])
        assert calls == ["first", "message-0", "message-1", "message-2", "second"]
        one.agent.calls.clear()
        other.agent.calls.clear()
