"""A repeated answer counts once."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest
from a2a.types import GetTaskRequest, Role, Task, TaskState

from a2a_adapters import AgentRequest, InputRequired, TextDelta
from a2a_adapters.plugin import Adapter, AgentDescription
from tests.plugins.sql.conftest import opened
from tests.plugins.sql.test_messages import CALLER, COMPLETED, counter, message, runtime_of


async def test_a_repeated_answer_counts_once(storage):
    calls = []

    async def book(request: AgentRequest):
        city = yield InputRequired("Where?")
        calls.append(city.text)
        yield f"Booked {city.text}."

    runtime = runtime_of(book, storage)
    question = await runtime.on_message_send(message(), CALLER)
    answer = message("Rome", "an-answer", task_id=question.id)
    first = await runtime.on_message_send(answer, CALLER)
    again = await runtime.on_message_send(answer, CALLER)
    assert first.status.state == again.status.state == COMPLETED
    assert first.id == again.id
    assert calls == ["Rome"]


async def test_an_answer_repeated_while_it_is_processed_is_not_refused(storage):
    may_go_on = asyncio.Event()
    calls = []

    async def book(request: AgentRequest):
        city = yield InputRequired("Where?")
        calls.append(city.text)
        yield "On it. "
        await may_go_on.wait()
        yield f"Booked {city.text}."

    runtime = runtime_of(book, storage)
    question = await runtime.on_message_send(message(), CALLER)
    at_once = {"configuration": {"return_immediately": True}}
    answer = partial(message, "Rome", "an-answer", task_id=question.id, beside=at_once)
    for _ in range(3):
        results = await runtime.on_message_send(answer(), CALLER)
        assert results.status.state == TaskState.TASK_STATE_WORKING
    may_go_on.set()
    waiting = message("Rome", "an-answer", task_id=question.id)
    assert (await runtime.on_message_send(waiting, CALLER)).status.state == COMPLETED
    assert calls == ["Rome"]


async def test_the_same_answer_to_a_new_question_has_a_new_id(storage):
    async def ask(request: AgentRequest):
        answers = [request.text]
        while len(answers) < 3:
            answers.append((yield InputRequired("Go on?")).text)
        yield " ".join(answers)

    runtime = runtime_of(ask, storage)
    question = await runtime.on_message_send(message("yes"), CALLER)
    asked = await runtime.on_message_send(message("yes", task_id=question.id), CALLER)
    assert asked.status.state == TaskState.TASK_STATE_INPUT_REQUIRED
    done = await runtime.on_message_send(message("yes", "message-2", task_id=asked.id), CALLER)
    assert done.status.state == COMPLETED


@pytest.mark.parametrize("durable", [False, True])
async def test_the_stream_of_a_repeat_ends_at_the_question(storage, durable):
    async def book(request: AgentRequest):
        yield InputRequired("Where?", durable=durable)
        yield "Booked."

    runtime = runtime_of(book, storage)
    question = await runtime.on_message_send(message(), CALLER)
    [asked] = [event async for event in runtime.on_message_send_stream(message(), CALLER)]
    assert asked == question
    await runtime.aclose()


async def test_a_repeat_after_a_restart(database_url):
    shout, calls = counter()
    async with opened(database_url) as before:
        runtime = runtime_of(shout, before)
        first = await runtime.on_message_send(message(), CALLER)
        await runtime.aclose()
    async with opened(database_url) as after:
        runtime = runtime_of(shout, after)
        again = await runtime.on_message_send(message(), CALLER)
        assert again == first
        assert calls == ["go"]
        other = await runtime.on_message_send(message("other"), CALLER)
        assert other.id != first.id
        found = await runtime.on_get_task(GetTaskRequest(id=first.id), CALLER)
        assert isinstance(found, Task)
        await runtime.aclose()


class Booking(Adapter):
    """Asks for a city, and resumes with the answer in another process."""

    resumes = True

    def __init__(self):
        self.may_end = asyncio.Event()

    def describe(self):
        return AgentDescription(name="booking", description="Books.")

    def stream(self, request):
        return self._book(request)

    def resume(self, request):
        return self._book(request)

    async def _book(self, request):
        if not request.resuming:
            yield InputRequired("Where?", durable=True)
            return
        yield TextDelta("On it. ")
        await self.may_end.wait()
        yield TextDelta(f"Booked {request.text}.")


async def test_an_answer_repeated_while_another_process_resumes_it_is_not_refused(
    database_url,
):
    at_once = {"configuration": {"return_immediately": True}}
    async with opened(database_url) as before:
        runtime = runtime_of(Booking(), before)
        question = await runtime.on_message_send(message(), CALLER)
        answer = partial(message, "Rome", "an-answer", task_id=question.id, beside=at_once)
        await runtime.on_message_send(answer(), CALLER)
        await runtime.aclose()
    async with opened(database_url) as after:
        booking = Booking()
        runtime = runtime_of(booking, after)
        await runtime.start()
        again = await runtime.on_message_send(answer(), CALLER)
        assert (again.id, again.status.state) == (question.id, TaskState.TASK_STATE_WORKING)
        booking.may_end.set()
        waiting = message("Rome", "an-answer", task_id=question.id)
        done = await runtime.on_message_send(waiting, CALLER)
        assert done.status.state == COMPLETED
        assert [m.message_id for m in done.history if m.role == Role.ROLE_USER].count(
            "an-answer"
        ) == 1
        await runtime.aclose()
