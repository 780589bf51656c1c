"""The runtime, with the official client and through a2a-sdk's interfaces."""

from __future__ import annotations

import asyncio

import pytest
from a2a.server.agent_execution import AgentExecutor
from a2a.server.context import ServerCallContext
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import (
    CancelTaskRequest,
    GetTaskRequest,
    ListTasksRequest,
    Message,
    Part,
    Role,
    SendMessageConfiguration,
    SendMessageRequest,
    SubscribeToTaskRequest,
    Task,
    TaskState,
    TaskStatus,
)
from a2a.utils.errors import (
    InternalError,
    InvalidParamsError,
    PushNotificationNotSupportedError,
    TaskNotFoundError,
    UnsupportedOperationError,
)

from a2a_adapters import InputRequired, Limits, ServerOptions, as_executor, build_app
from a2a_adapters.protocol.card import build_card
from a2a_adapters.protocol.errors import ReaderBehindError, ServerBusyError
from a2a_adapters.runtime import Runtime
from a2a_adapters.testing import answer_of, connect, running, stream, user_message

CALLER = ServerCallContext()


def runtime_of(target, *, store=None, limits=None):
    executor = target if isinstance(target, AgentExecutor) else as_executor(target)
    about = as_executor(lambda text: text).adapter.describe()
    return Runtime(executor, build_card(about, "http://x"), task_store=store, limits=limits)


class Executor(AgentExecutor):
    """An a2a-sdk executor made of one function of (queue, context)."""

    def __init__(self, execute, cancel=None):
        self._execute = execute
        self._cancel = cancel

    async def execute(self, context, event_queue):
        await self._execute(event_queue, context)

    async def cancel(self, context, event_queue):
        if self._cancel is None:
            raise UnsupportedOperationError
        await self._cancel(event_queue, context)


@pytest.fixture
def gate():
    return asyncio.Event()


async def test_return_immediately(gate):
    async def slow(text):
        await gate.wait()
        return text

    runtime = runtime_of(slow)
    request = user_message("go")
    request.configuration.return_immediately = True
    task = await runtime.on_message_send(request, CALLER)
    assert task.status.state == TaskState.TASK_STATE_WORKING
    updates = runtime.on_subscribe_to_task(SubscribeToTaskRequest(id=task.id), CALLER)
    assert (await anext(updates)).id == task.id
    gate.set()
    last = [update async for update in updates][-1]
    assert last.status.state == TaskState.TASK_STATE_COMPLETED


async def test_follow_ups_on_a_running_task_wait_and_then_find_it_terminal(gate):
    async def slow(text):
        await gate.wait()
        return text

    runtime = runtime_of(slow)
    first = runtime.on_message_send_stream(user_message("one"), CALLER)
    task = await anext(first)
    second = asyncio.ensure_future(
        runtime.on_message_send(user_message("two", task_id=task.id), CALLER)
    )
    await asyncio.sleep(0)
    assert not second.done()
    gate.set()
    with pytest.raises(UnsupportedOperationError, match="over"):
        await second
    assert [event async for event in first][-1].status.state == TaskState.TASK_STATE_COMPLETED


async def test_a_queued_follow_up_ends_with_its_cancelled_task(gate):
    async def slow(text):
        await gate.wait()

    runtime = runtime_of(slow)
    task = await anext(runtime.on_message_send_stream(user_message("one"), CALLER))
    follow_up = user_message("two", task_id=task.id)
    second = asyncio.ensure_future(runtime.on_message_send(follow_up, CALLER))
    await asyncio.sleep(0)
    await runtime.on_cancel_task(CancelTaskRequest(id=task.id), CALLER)
    assert (await second).status.state == TaskState.TASK_STATE_CANCELED


async def test_the_context_of_a_task_cannot_be_changed():
    async def ask(text):
        yield InputRequired("?")

    runtime = runtime_of(ask)
    task = await runtime.on_message_send(user_message("go"), CALLER)
    with pytest.raises(InvalidParamsError, match="context"):
        await runtime.on_message_send(
            user_message("x", task_id=task.id, context_id="other"), CALLER
        )
    with pytest.raises(TaskNotFoundError):
        await runtime.on_message_send(user_message("x", task_id="unknown"), CALLER)


async def test_concurrent_callers_share_one_live_task():
    async def ask(text):
        yield InputRequired("?", durable=True)

    store = InMemoryTaskStore()
    task = await runtime_of(ask, store=store).on_message_send(user_message("go"), CALLER)
    restarted = runtime_of(ask, store=store)
    answers = [user_message(str(n), task_id=task.id) for n in range(3)]
    await asyncio.gather(*(restarted.on_message_send(a, CALLER) for a in answers))
    stored = await restarted.on_get_task(GetTaskRequest(id=task.id), CALLER)
    assert [m.parts[0].text for m in stored.history if m.role == Role.ROLE_USER] == [
        "go",
        "0",
        "1",
        "2",
    ]


async def test_an_answer_to_a_generator_lost_by_a_restart_fails_the_task():
    async def ask(text):
        yield InputRequired("?")

    store = InMemoryTaskStore()
    task = await runtime_of(ask, store=store).on_message_send(user_message("go"), CALLER)
    answer = user_message("x", task_id=task.id)
    task = await runtime_of(ask, store=store).on_message_send(answer, CALLER)
    assert task.status.state == TaskState.TASK_STATE_FAILED
    assert "no longer waits" in task.status.message.parts[0].text


async def test_a_task_waits_for_its_caller_for_a_limited_time():
    async def ask(text):
        yield InputRequired("?")

    limits = Limits(input_seconds=0.05)
    executor = as_executor(ask, ServerOptions(limits=limits))
    runtime = runtime_of(executor, limits=limits)
    task = await runtime.on_message_send(user_message("go"), CALLER)
    events = runtime.on_subscribe_to_task(SubscribeToTaskRequest(id=task.id), CALLER)
    last = [event async for event in events][-1]
    assert last.status.state == TaskState.TASK_STATE_FAILED
    assert "no answer came" in last.status.message.parts[0].text


async def test_a_stalled_reader_gets_an_error_and_delays_no_others():
    ended = asyncio.Event()

    async def talkative(text):
        for _ in range(500):
            yield "word "
        if text == "stuck":
            ended.set()

    limits = Limits(subscriber_events=100, subscriber_seconds=0.05)
    runtime = runtime_of(talkative, limits=limits)
    stuck = await runtime.open_stream(user_message("stuck"), CALLER)
    await ended.wait()
    done = await runtime.on_message_send(user_message("go"), CALLER)
    assert len(answer_of(done)) == 2500
    taken = await stuck.take()
    assert 100 <= len(taken) < 200
    with pytest.raises(ReaderBehindError):
        await stuck.take()
    again = await runtime.on_list_tasks(ListTasksRequest(include_artifacts=True), CALLER)
    assert {len(answer_of(task)) for task in again.tasks} == {2500}


async def test_every_chunk_of_many_streams_arrives_once_and_in_order():
    async def count(text):
        for n in range(200):
            yield f"{text}-{n} "

    async with running(build_app(count)) as url, connect(url) as client:
        streams = await asyncio.gather(*(stream(client, user_message(f"s{n}")) for n in range(20)))
    for n, events in enumerate(streams):
        chunks = [
            e.artifact_update.artifact.parts[0].text
            for e in events
            if e.HasField("artifact_update")
        ]
        assert chunks == [f"s{n}-{i} " for i in range(200)] + [""]


async def test_every_one_of_many_outputs_is_stored():
    async def execute(event_queue, context):
        writer = TaskUpdater(event_queue, context.task_id, context.context_id)
        status = TaskStatus(state=TaskState.TASK_STATE_WORKING)
        task = Task(id=context.task_id, context_id=context.context_id, status=status)
        await event_queue.enqueue_event(task)
        for n in range(1000):
            await writer.add_artifact([Part(text=f"{n}")], artifact_id=f"a{n}")
        for n in range(1000):
            await writer.add_artifact([Part(text="!")], artifact_id=f"a{n}", append=n % 2 == 0)
        await writer.complete()

    runtime = runtime_of(Executor(execute))
    task = await runtime.on_message_send(user_message("go"), CALLER)
    found = ["".join(part.text for part in artifact.parts) for artifact in task.artifacts]
    assert found == [f"{n}!" if n % 2 == 0 else "!" for n in range(1000)]


async def test_list_tasks_pages_and_hides_artifacts():
    runtime = runtime_of(lambda text: text)
    for n in range(5):
        await runtime.on_message_send(user_message(str(n), context_id=f"c{n % 2}"), CALLER)
    page = await runtime.on_list_tasks(ListTasksRequest(page_size=2), CALLER)
    assert (len(page.tasks), page.total_size) == (2, 5)
    assert not page.tasks[0].artifacts
    following = ListTasksRequest(page_size=2, page_token=page.next_page_token, history_length=0)
    page = await runtime.on_list_tasks(following, CALLER)
    assert [len(task.history) for task in page.tasks] == [0, 0]
    of_one = await runtime.on_list_tasks(ListTasksRequest(context_id="c1"), CALLER)
    assert of_one.total_size == 2
    with pytest.raises(InvalidParamsError):
        await runtime.on_list_tasks(ListTasksRequest(page_size=1000), CALLER)


async def test_a_running_task_is_listed_in_its_current_state(gate):
    store = InMemoryTaskStore()

    async def halting(text):
        yield "begun"
        await gate.wait()

    runtime = runtime_of(halting, store=store)
    subscription = await runtime.open_stream(user_message("go"), CALLER)
    seen = []
    while len(seen) < 2:
        seen += await subscription.take()
    listed = await runtime.on_list_tasks(ListTasksRequest(include_artifacts=True), CALLER)
    assert answer_of(listed.tasks[0]) == "begun"
    gate.set()


async def test_history_length():
    runtime = runtime_of(lambda text: text)
    request = user_message("go")
    request.configuration.CopyFrom(SendMessageConfiguration(history_length=0))
    task = await runtime.on_message_send(request, CALLER)
    assert not task.history
    request.message.ClearField("task_id")
    [task, *_] = [event async for event in runtime.on_message_send_stream(request, CALLER)]
    assert not task.history
    full = await runtime.on_get_task(GetTaskRequest(id=task.id), CALLER)
    assert len(full.history) == 1


async def test_finished_tasks_are_dropped_above_a_count():
    runtime = runtime_of(lambda text: text, limits=Limits(finished_tasks=2))
    tasks = [await runtime.on_message_send(user_message(str(n)), CALLER) for n in range(3)]
    with pytest.raises(TaskNotFoundError):
        await runtime.on_get_task(GetTaskRequest(id=tasks[0].id), CALLER)
    assert await runtime.on_get_task(GetTaskRequest(id=tasks[2].id), CALLER) == tasks[2]


async def test_finished_tasks_are_dropped_after_a_time():
    runtime = runtime_of(lambda text: text, limits=Limits(finished_seconds=0))
    task = await runtime.on_message_send(user_message("one"), CALLER)
    await runtime.on_message_send(user_message("two"), CALLER)
    with pytest.raises(TaskNotFoundError):
        await runtime.on_get_task(GetTaskRequest(id=task.id), CALLER)


async def test_shutdown_waits_for_short_runs_and_fails_long_ones(gate):
    async def work(text):
        if text == "long":
            await gate.wait()
        return text

    runtime = runtime_of(work, limits=Limits(shutdown_seconds=0.1))
    long = asyncio.ensure_future(runtime.on_message_send(user_message("long"), CALLER))
    short = asyncio.ensure_future(runtime.on_message_send(user_message("short"), CALLER))
    await asyncio.sleep(0)
    await runtime.aclose()
    assert (await short).status.state == TaskState.TASK_STATE_COMPLETED
    assert (await long).status.state == TaskState.TASK_STATE_FAILED
    with pytest.raises(ServerBusyError, match="stopped"):
        await runtime.on_message_send(user_message("late"), CALLER)


async def test_invalid_messages_are_refused():
    runtime = runtime_of(lambda text: text)
    good = Message(message_id="m", role=Role.ROLE_USER, parts=[Part(text="x")])
    for field in ("message_id", "role", "parts"):
        bad = Message()
        bad.CopyFrom(good)
        bad.ClearField(field)
        with pytest.raises(InvalidParamsError):
            await runtime.on_message_send(SendMessageRequest(message=bad), CALLER)
    for bad in (
        Message(message_id="m", role=Role.ROLE_AGENT, parts=[Part(text="x")]),
        Message(message_id="m", role=Role.ROLE_USER, parts=[Part()]),
    ):
        with pytest.raises(InvalidParamsError):
            await runtime.on_message_send(SendMessageRequest(message=bad), CALLER)
    request = user_message("go")
    request.configuration.task_push_notification_config.url = "https://example.org"
    with pytest.raises(PushNotificationNotSupportedError):
        await runtime.on_message_send(request, CALLER)


class BrokenStore(InMemoryTaskStore):
    async def save(self, task, context):
        raise OSError("disk /secret/path is full")

    async def get(self, task_id, context):
        raise OSError("disk /secret/path is full")


async def test_a_broken_store_leaks_nothing_and_hangs_no_caller():
    runtime = runtime_of(lambda text: text, store=BrokenStore())
    task = await runtime.on_message_send(user_message("go"), CALLER)
    assert task.status.state == TaskState.TASK_STATE_FAILED
    events = [e async for e in runtime.on_message_send_stream(user_message("go"), CALLER)]
    assert events[-1].status.state == TaskState.TASK_STATE_FAILED
    with pytest.raises(InternalError) as caught:
        await runtime.on_get_task(GetTaskRequest(id="x"), CALLER)
    assert "secret" not in f"{task}{events}{caught.value}"
