"""A repeated message returns its original task."""

from __future__ import annotations

import asyncio
import uuid
from functools import partial

import pytest
from a2a.server.context import ServerCallContext
from a2a.types import Message, Part, Role, SendMessageRequest, TaskState
from a2a.utils.errors import InvalidParamsError
from google.protobuf.struct_pb2 import Struct, Value

from a2a_adapters import (
    AgentRequest,
    Reply,
    Text,
    as_executor,
)
from a2a_adapters.protocol.card import DEDUPLICATION_EXTENSION, build_card
from a2a_adapters.protocol.errors import StorageUnavailableError
from a2a_adapters.runtime import Runtime
from tests.plugins.sql.conftest import opened
from tests.plugins.sql.test_contract import Named

CALLER = ServerCallContext(user=Named("ann"))
ANONYMOUS = ServerCallContext()
RANDOM_UUID = "0c3cb0a1-59a1-4b2f-8f0f-3f0a1d3c9e77"
COMPLETED = TaskState.TASK_STATE_COMPLETED


def runtime_of(target, storage):
    executor = as_executor(target)
    card = build_card(executor.adapter.describe(), "http://x", deduplicates=True)
    return Runtime(executor, card, storage=storage.of("agent"))


def message(text="go", message_id="message-1", *, beside=None, **fields):
    return SendMessageRequest(
        message=Message(
            message_id=message_id, role=Role.ROLE_USER, parts=[Part(text=text)], **fields
        ),
        **(beside or {}),
    )


def activating(user=CALLER.user):
    return ServerCallContext(user=user, requested_extensions={DEDUPLICATION_EXTENSION})


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


async def test_a_repeat_while_the_task_runs(storage):
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


async def test_an_answered_message_may_be_repeated_concurrently(storage):
    shout, calls = counter()
    runtime = runtime_of(shout, storage)
    first = await runtime.on_message_send(message(), CALLER)
    again = await asyncio.gather(*(runtime.on_message_send(message(), CALLER) for _ in range(4)))
    assert {task.id for task in again} == {first.id}
    assert calls == ["go"]


async def test_concurrent_repeats_are_refused_for_the_same_reason(storage, monkeypatch):
    shout, calls = counter()
    runtime = runtime_of(shout, storage)

    async def refuse(*_, **__):
        await asyncio.sleep(0)
        raise StorageUnavailableError

    monkeypatch.setattr(type(storage.of("agent")), "accept", refuse)
    sends = (runtime.on_message_send(message(), CALLER) for _ in range(4))
    results = await asyncio.gather(*sends, return_exceptions=True)
    assert [type(error) for error in results] == [StorageUnavailableError] * 4
    monkeypatch.undo()
    assert (await runtime.on_message_send(message(), CALLER)).status.state == COMPLETED
    assert calls == ["go"]


NOTE = Struct(fields={"step": Value(number_value=2)})
OTHERS = {
    "text": {"text": "other"},
    "context": {"context_id": "elsewhere"},
    "metadata of the message": {"metadata": NOTE},
    "metadata": {"beside": {"metadata": NOTE}},
    "tenant": {"beside": {"tenant": "another"}},
    "returnImmediately": {"beside": {"configuration": {"return_immediately": True}}},
    "historyLength": {"beside": {"configuration": {"history_length": 3}}},
}


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
async def test_another_request_with_a_used_id_starts_a_new_task(storage, other, caplog):
    caplog.set_level("INFO", "a2a_adapters.runtime.messages")
    runtime = runtime_of(counter()[0], storage)
    first = await runtime.on_message_send(message(), CALLER)
    assert not caplog.messages
    second = await runtime.on_message_send(message(**other), CALLER)
    assert first.id != second.id
    assert [line.split(": ", 1) for line in caplog.messages] == [
        [f"task {second.id}", "its messageId 'message-1' was used before, by another request"]
    ]
    again = [await runtime.on_message_send(message(**fields), CALLER) for fields in ({}, other)]
    assert [task.id for task in again] == [first.id, second.id]
    assert len(caplog.messages) == 1
    await runtime.aclose()


async def test_empty_and_missing_fields_are_the_same_request(storage):
    shout, calls = counter()
    runtime = runtime_of(shout, storage)
    first = await runtime.on_message_send(message(), CALLER)
    empty = message(beside={"configuration": {}, "metadata": {}})
    assert (await runtime.on_message_send(empty, CALLER)).id == first.id
    assert calls == ["go"]


GUESSABLE = ("message-1", "conversation-message-2026-11-23-1", str(uuid.UUID(int=5)), "1" * 40)


@pytest.mark.parametrize("message_id", GUESSABLE)
async def test_anonymous_callers_cannot_share_tasks_by_guessable_ids(storage, message_id):
    shout, calls = counter()
    runtime = runtime_of(shout, storage)
    request = partial(message, message_id=message_id)
    tasks = [await runtime.on_message_send(request(), ANONYMOUS) for _ in range(2)]
    assert tasks[0].id != tasks[1].id
    assert calls == ["go", "go"]
    with pytest.raises(InvalidParamsError, match="cannot be guessed"):
        await runtime.on_message_send(request(), activating(ANONYMOUS.user))


@pytest.mark.parametrize(
    "message_id", [RANDOM_UUID, RANDOM_UUID.replace("-", "").upper(), f"mine-{RANDOM_UUID}-1"]
)
async def test_anonymous_callers_may_repeat_unguessable_ids(storage, message_id):
    shout, calls = counter()
    runtime = runtime_of(shout, storage)
    request = partial(message, message_id=message_id)
    tasks = [await runtime.on_message_send(request(), ANONYMOUS) for _ in range(2)]
    assert tasks[0].id == tasks[1].id
    assert calls == ["go"]


@pytest.mark.parametrize(
    "other", [OTHERS[name] for name in ("context", "metadata", "returnImmediately")]
)
async def test_with_the_extension_the_id_alone_identifies_a_repeat(storage, other):
    shout, calls = counter()
    runtime = runtime_of(shout, storage)
    first = await runtime.on_message_send(message(message_id="m"), activating())
    again = await runtime.on_message_send(message(message_id="m", **other), activating())
    assert first.id == again.id
    assert calls == ["go"]


async def test_with_the_extension_another_text_under_a_used_id_is_an_error(storage):
    runtime = runtime_of(counter()[0], storage)
    await runtime.on_message_send(message(), activating())
    with pytest.raises(InvalidParamsError, match="used for another message"):
        await runtime.on_message_send(message("other"), activating())


async def test_an_extension_that_the_card_does_not_list_cannot_be_activated(storage):
    shout, calls = counter()
    executor = as_executor(shout)
    card = build_card(executor.adapter.describe(), "http://x")
    runtime = Runtime(executor, card, storage=storage.of("agent"))
    for text in ("one", "two"):
        await runtime.on_message_send(message(text), activating())
    assert calls == ["one", "two"]


async def test_a_repeat_is_recognised_for_a_day(database_url):
    async with opened(database_url) as storage:
        shout, calls = counter()
        runtime = runtime_of(shout, storage)
        first = await runtime.on_message_send(message(), CALLER)
        async with storage.database.engine.begin() as connection:
            a_day = f"{24 * 3600 * 10**9}"
            await connection.exec_driver_sql(
                f"UPDATE a2a_messages SET accepted = accepted - {a_day}"
            )
        second = await runtime.on_message_send(message(), CALLER)
        assert first.id != second.id
        again = await runtime.on_message_send(message(), CALLER)
        assert again.id == second.id
        assert calls == ["go", "go"]
        await runtime.aclose()


async def test_very_short_ids_never_count_as_repeats(storage):
    shout, calls = counter()
    runtime = runtime_of(shout, storage)
    for text in ("one", "two", "two"):
        await runtime.on_message_send(message(text, "m1"), CALLER)
    assert calls == ["one", "two", "two"]


async def test_messages_of_owners_are_isolated(storage):
    shout, calls = counter()
    runtime = runtime_of(shout, storage)
    ann = await runtime.on_message_send(message(), ServerCallContext(user=Named("ann")))
    bob = await runtime.on_message_send(message("other"), ServerCallContext(user=Named("bob")))
    assert ann.id != bob.id
    assert calls == ["go", "other"]


async def test_a_refused_message_may_be_repeated(storage):
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


async def test_a_reply_without_a_task_is_repeated(storage):
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
