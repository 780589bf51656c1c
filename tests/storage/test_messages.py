"""A message that is sent again gets the task that it began."""

from __future__ import annotations

import asyncio

import pytest
from a2a.server.context import ServerCallContext
from a2a.types import GetTaskRequest, Message, Part, Role, SendMessageRequest, Task, TaskState
from a2a.utils.errors import InvalidParamsError

from a2a_adapters import AgentRequest, InputRequired, Reply, Text, as_executor
from a2a_adapters.protocol.card import build_card
from a2a_adapters.protocol.errors import StorageUnavailableError
from a2a_adapters.runtime import Runtime
from tests.storage.conftest import storage_at
from tests.storage.test_contract import Named

CALLER = ServerCallContext()
COMPLETED = TaskState.TASK_STATE_COMPLETED


def runtime_of(target, storage):
    executor = as_executor(target)
    card = build_card(executor.adapter.describe(), "http://x")
    return Runtime(executor, card, storage=storage.of("agent"))


def message(text="go", message_id="message-1", **fields):
    return SendMessageRequest(
        message=Message(
            message_id=message_id, role=Role.ROLE_USER, parts=[Part(text=text)], **fields
        )
    )


def counter():
    calls = []

    def shout(text: str) -> str:
        calls.append(text)
        return text.upper()

    return shout, calls


async def test_the_same_message_is_the_same_task_and_runs_once(storage):
    shout, calls = counter()
    runtime = runtime_of(shout, storage)
    first = await runtime.on_message_send(message(), CALLER)
    again = await runtime.on_message_send(message(), CALLER)
    [streamed] = [event async for event in runtime.on_message_send_stream(message(), CALLER)]
    assert first.id == again.id == streamed.id
    assert streamed.status.state == COMPLETED
    assert calls == ["go"]


async def test_it_is_while_the_task_runs(storage):
    may_go_on = asyncio.Event()

    async def slow(text: str) -> str:
        await may_go_on.wait()
        return text

    runtime = runtime_of(slow, storage)
    sends = [asyncio.ensure_future(runtime.on_message_send(message(), CALLER)) for _ in range(5)]
    stream = runtime.on_message_send_stream(message(), CALLER)
    first = await anext(stream)
    sends.pop().cancel()
    may_go_on.set()
    tasks = await asyncio.gather(*sends)
    assert {task.id for task in tasks} == {first.id}
    assert {task.status.state for task in tasks} == {COMPLETED}
    *_, last = [event async for event in stream]
    assert last.status.state == COMPLETED


async def test_one_that_was_answered_may_come_any_number_of_times_at_once(storage):
    shout, calls = counter()
    runtime = runtime_of(shout, storage)
    first = await runtime.on_message_send(message(), CALLER)
    again = await asyncio.gather(*(runtime.on_message_send(message(), CALLER) for _ in range(4)))
    assert {task.id for task in again} == {first.id}
    assert calls == ["go"]


async def test_all_that_come_at_once_are_refused_for_the_same_reason(storage, monkeypatch):
    shout, calls = counter()
    runtime = runtime_of(shout, storage)

    async def refuse(*_, **__):
        await asyncio.sleep(0)
        raise StorageUnavailableError

    monkeypatch.setattr(runtime._messages._storage, "accept", refuse)
    sends = (runtime.on_message_send(message(), CALLER) for _ in range(4))
    told = await asyncio.gather(*sends, return_exceptions=True)
    assert [type(error) for error in told] == [StorageUnavailableError] * 4
    monkeypatch.undo()
    assert (await runtime.on_message_send(message(), CALLER)).status.state == COMPLETED
    assert calls == ["go"]


async def test_another_content_is_refused(storage):
    shout, calls = counter()
    runtime = runtime_of(shout, storage)
    await runtime.on_message_send(message("one"), CALLER)
    with pytest.raises(InvalidParamsError, match="used for another message"):
        await runtime.on_message_send(message("two"), CALLER)
    assert calls == ["one"]


async def test_an_id_as_short_as_naive_clients_have_it_is_always_new(storage):
    shout, calls = counter()
    runtime = runtime_of(shout, storage)
    for text in ("one", "two", "two"):
        await runtime.on_message_send(message(text, "m1"), CALLER)
    assert calls == ["one", "two", "two"]


async def test_owners_have_messages_of_their_own(storage):
    shout, calls = counter()
    runtime = runtime_of(shout, storage)
    ann = await runtime.on_message_send(message(), ServerCallContext(user=Named("ann")))
    bob = await runtime.on_message_send(message("other"), ServerCallContext(user=Named("bob")))
    assert ann.id != bob.id
    assert calls == ["go", "other"]


async def test_a_message_that_was_refused_may_come_again(storage):
    from a2a_adapters import InvalidInputError

    attempts = []

    def fussy(request: AgentRequest) -> str:
        attempts.append(request.text)
        if len(attempts) == 1:
            raise InvalidInputError("not now")
        return "ok"

    executor = as_executor(fussy)
    original = executor.adapter.stream

    def stream(request):
        if not attempts:
            attempts.append("refused")
            raise InvalidInputError("not now")
        return original(request)

    executor.adapter.stream = stream
    executor.adapter.may_reply = True
    runtime = Runtime(
        executor,
        build_card(executor.adapter.describe(), "http://x"),
        storage=storage.of("agent"),
    )
    with pytest.raises(InvalidParamsError, match="not now"):
        await runtime.on_message_send(message(), CALLER)
    assert (await runtime.on_message_send(message(), CALLER)).status.state == COMPLETED


async def test_a_reply_without_a_task_is_given_again(storage):
    calls = []

    def reply(text: str) -> Reply:
        calls.append(text)
        return Reply([Text("hi")])

    runtime = runtime_of(reply, storage)
    first = await runtime.on_message_send(message(), CALLER)
    again = await runtime.on_message_send(message(), CALLER)
    [streamed] = [event async for event in runtime.on_message_send_stream(message(), CALLER)]
    assert isinstance(first, Message)
    assert first == again == streamed
    assert calls == ["go"]


async def test_an_answer_that_is_sent_again_answers_once(storage):
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


@pytest.mark.parametrize("durable", [False, True])
async def test_the_stream_of_one_that_comes_again_ends_at_the_question(storage, durable):
    async def book(request: AgentRequest):
        yield InputRequired("Where?", durable=durable)
        yield "Booked."

    runtime = runtime_of(book, storage)
    question = await runtime.on_message_send(message(), CALLER)
    [asked] = [event async for event in runtime.on_message_send_stream(message(), CALLER)]
    assert asked == question
    await runtime.aclose()


async def test_it_is_after_a_restart(database_url):
    shout, calls = counter()
    before = storage_at(database_url)
    await before.start()
    runtime = runtime_of(shout, before)
    first = await runtime.on_message_send(message(), CALLER)
    await runtime.aclose()
    await before.aclose(1)
    after = storage_at(database_url)
    await after.start()
    runtime = runtime_of(shout, after)
    again = await runtime.on_message_send(message(), CALLER)
    assert again == first
    assert calls == ["go"]
    with pytest.raises(InvalidParamsError):
        await runtime.on_message_send(message("other"), CALLER)
    found = await runtime.on_get_task(GetTaskRequest(id=first.id), CALLER)
    assert isinstance(found, Task)
    await runtime.aclose()
    await after.aclose(1)
