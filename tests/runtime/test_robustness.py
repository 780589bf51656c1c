"""Hostile or careless agents, callers and stores."""

from __future__ import annotations

import asyncio
import sys
import threading

import pytest
from a2a.server.agent_execution import AgentExecutor
from a2a.server.context import ServerCallContext
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import (
    CancelTaskRequest,
    GetTaskRequest,
    ListTasksRequest,
    Part,
    SubscribeToTaskRequest,
    Task,
    TaskState,
    TaskStatus,
)
from a2a.utils.errors import TaskNotCancelableError, UnsupportedOperationError

from a2a_adapters import (
    AgentRequest,
    InputRequired,
    Limits,
    Output,
    ServerOptions,
    Text,
    as_executor,
    build_app,
)
from a2a_adapters.protocol.card import build_card
from a2a_adapters.runtime import Runtime
from a2a_adapters.testing import answer_of, user_message

CALLER = ServerCallContext()


def runtime_of(target, *, store=None, limits=None):
    is_executor = isinstance(target, AgentExecutor)
    options = ServerOptions(limits=limits or Limits())
    executor = target if is_executor else as_executor(target, options)
    about = as_executor(lambda text: text).adapter.describe()
    return Runtime(executor, build_card(about, "http://x"), task_store=store, limits=limits)


def leaves():
    sys.exit("hunter2")


def interrupts():
    raise KeyboardInterrupt


def stops():
    return next(iter(()))


@pytest.mark.parametrize("harm", [leaves, interrupts, stops])
async def test_an_agent_cannot_stop_or_hang_the_server(harm):
    def blocking(text: str) -> str:
        return harm()

    async def asynchronous(text: str) -> str:
        return harm()

    def generator(text: str):
        yield "begun"
        harm()

    for function in (blocking, asynchronous, generator):
        task = await runtime_of(function).on_message_send(user_message("go"), CALLER)
        assert task.status.state == TaskState.TASK_STATE_FAILED
        assert "hunter2" not in str(task)


class FailingOnce(InMemoryTaskStore):
    """Fails while a task completes."""

    failures = 1

    async def save(self, task, context):
        if task.status.state == TaskState.TASK_STATE_COMPLETED and self.failures:
            self.failures -= 1
            raise OSError
        await super().save(task, context)


async def test_a_failed_save_of_the_last_state_is_retried():
    store = FailingOnce()
    runtime = runtime_of(lambda text: text, store=store)
    task = await runtime.on_message_send(user_message("go"), CALLER)
    async with asyncio.timeout(60):
        while True:
            stored = await store.get(task.id, CALLER)
            if stored.status.state == TaskState.TASK_STATE_COMPLETED:
                break
            shown = await runtime.on_get_task(GetTaskRequest(id=task.id), CALLER)
            assert shown.status.state == TaskState.TASK_STATE_COMPLETED
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("how", ["raises", "goes on", "takes its time"])
async def test_a_parked_run_cannot_prevent_the_cancellation_of_its_task(how):
    async def stubborn(text: str):
        try:
            yield InputRequired("?")
        except GeneratorExit:
            if how == "goes on":
                yield "no"
            if how == "takes its time":
                await asyncio.Event().wait()
            raise RuntimeError from None

    runtime = runtime_of(stubborn, limits=Limits(shutdown_seconds=0.1))
    task = await runtime.on_message_send(user_message("go"), CALLER)
    async with asyncio.timeout(60):
        await runtime.on_cancel_task(CancelTaskRequest(id=task.id), CALLER)
        await runtime.executor.aclose()
    stored = await runtime.on_get_task(GetTaskRequest(id=task.id), CALLER)
    assert stored.status.state == TaskState.TASK_STATE_CANCELED


async def test_an_agent_that_ignores_cancellation_blocks_neither_others_nor_shutdown(caplog):
    release = asyncio.Event()

    async def deaf(text: str):
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue
        return text

    runtime = runtime_of(deaf, limits=Limits(run_seconds=0.3, shutdown_seconds=0.1))
    request = user_message("go", context_id="c")
    request.configuration.return_immediately = True
    task = await runtime.on_message_send(request, CALLER)
    await runtime.on_cancel_task(CancelTaskRequest(id=task.id), CALLER)
    async with asyncio.timeout(60):
        after = await runtime.on_message_send(user_message("go", context_id="c"), CALLER)
        assert after.status.state == TaskState.TASK_STATE_FAILED
        await runtime.aclose()
    assert "did not end" in caplog.text
    release.set()


class Asking(AgentExecutor):
    """An a2a-sdk executor that asks a question, and continues with an artifact."""

    async def execute(self, context, event_queue):
        writer = TaskUpdater(event_queue, context.task_id, context.context_id)
        if context.current_task is None:
            status = TaskStatus(state=TaskState.TASK_STATE_SUBMITTED)
            task = Task(id=context.task_id, context_id=context.context_id, status=status)
            await event_queue.enqueue_event(task)
            await writer.requires_input()
        else:
            await writer.add_artifact([Part(text="answered")])
            await asyncio.sleep(0.01)

    async def cancel(self, context, event_queue):
        raise UnsupportedOperationError


async def test_a_running_sdk_executor_is_awaited():
    runtime = runtime_of(Asking())
    task = await runtime.on_message_send(user_message("go"), CALLER)
    done = await runtime.on_message_send(user_message("x", task_id=task.id), CALLER)
    assert answer_of(done) == "answered"
    assert done.status.state == TaskState.TASK_STATE_COMPLETED


async def test_events_of_any_kind_let_readers_run():
    async def busy(text: str):
        for _ in range(300):
            yield Output((Text("x"),))

    runtime = runtime_of(busy, limits=Limits(subscriber_events=100))
    events = [e async for e in runtime.on_message_send_stream(user_message("go"), CALLER)]
    assert events[-1].status.state == TaskState.TASK_STATE_COMPLETED


class SlowStore(InMemoryTaskStore):
    async def save(self, task, context):
        await asyncio.sleep(0.01)
        await super().save(task, context)

    async def get(self, task_id, context):
        task = await super().get(task_id, context)
        await asyncio.sleep(0.05)
        return task


async def test_a_subscriber_that_joins_during_a_save_gets_the_event_once():
    class Slow(Asking):
        async def execute(self, context, event_queue):
            writer = TaskUpdater(event_queue, context.task_id, context.context_id)
            status = TaskStatus(state=TaskState.TASK_STATE_WORKING)
            task = Task(id=context.task_id, context_id=context.context_id, status=status)
            await event_queue.enqueue_event(task)
            for n in range(4):
                await writer.add_artifact([Part(text=f"{n} ")], artifact_id="a", append=n > 0)
                await writer.start_work()
            await writer.complete()

    runtime = runtime_of(Slow(), store=SlowStore())
    request = user_message("go")
    request.configuration.return_immediately = True
    task = await runtime.on_message_send(request, CALLER)

    async def read():
        text = ""
        async for e in runtime.on_subscribe_to_task(SubscribeToTaskRequest(id=task.id), CALLER):
            if isinstance(e, Task):
                text = "".join(p.text for a in e.artifacts for p in a.parts)
            elif hasattr(e, "artifact"):
                text += e.artifact.parts[0].text
        return text

    readers = []
    for _ in range(3):
        readers.append(asyncio.ensure_future(read()))
        await asyncio.sleep(0.01)
    assert set(await asyncio.gather(*readers)) == {"0 1 2 3 "}


async def test_concurrent_answers_after_a_restart_are_answered_once():
    calls = []

    async def ask(request: AgentRequest):
        if not request.resuming:
            return InputRequired("?")
        calls.append(request.text)
        return request.text

    store = SlowStore()
    task = await runtime_of(ask, store=store).on_message_send(user_message("go"), CALLER)
    restarted = runtime_of(ask, store=store)
    answers = [
        restarted.on_message_send(user_message(text, task_id=task.id), CALLER) for text in "ab"
    ]
    results = await asyncio.gather(*answers, return_exceptions=True)
    assert len(calls) == 1
    assert sorted(type(r).__name__ for r in results) == ["Task", "UnsupportedOperationError"]


async def test_a_question_that_is_being_stored_takes_an_answer():
    """Other processes show a question as soon as it is stored, before its run knows of that."""
    goes_on, holds, gate = asyncio.Event(), asyncio.Event(), asyncio.Event()

    class Held(InMemoryTaskStore):
        async def save(self, task, context):
            await super().save(task, context)
            if task.status.state == TaskState.TASK_STATE_INPUT_REQUIRED:
                holds.set()
                await gate.wait()

    async def ask(request: AgentRequest):
        yield "Well, "
        await goes_on.wait()
        reply = yield InputRequired("where to?")
        yield reply.text

    def deaf(text, **fields):
        request = user_message(text, **fields)
        request.configuration.return_immediately = True
        return runtime.on_message_send(request, CALLER)

    runtime = runtime_of(ask, store=Held())
    task = await deaf("go")
    goes_on.set()
    await holds.wait()
    answering = asyncio.ensure_future(deaf("Rome", task_id=task.id))
    await asyncio.wait({answering}, timeout=0.05)
    gate.set()
    await answering
    async with asyncio.timeout(60):
        while task.status.state != TaskState.TASK_STATE_COMPLETED:
            task = await runtime.on_get_task(GetTaskRequest(id=task.id), CALLER)
    assert answer_of(task) == "Well, \nRome"


async def test_cancelled_queued_work_never_runs():
    release, done = threading.Event(), []

    def work(request: AgentRequest) -> str:
        release.wait(60)
        done.append(request.text)
        return request.text

    app = build_app(work, options=ServerOptions(limits=Limits(threads=1)))
    async with app.router.lifespan_context(app):
        [runtime] = [agent.runtime for agent in app.state.agents]
        tasks = []
        for text in "abc":
            request = user_message(text)
            request.configuration.return_immediately = True
            tasks.append(await runtime.on_message_send(request, CALLER))
        for task in tasks[1:]:
            await runtime.on_cancel_task(CancelTaskRequest(id=task.id), CALLER)
        with pytest.raises(TaskNotCancelableError):
            await runtime.on_cancel_task(CancelTaskRequest(id=tasks[1].id), CALLER)
        release.set()
        last = runtime.on_subscribe_to_task(SubscribeToTaskRequest(id=tasks[0].id), CALLER)
        assert [e async for e in last][-1].status.state == TaskState.TASK_STATE_COMPLETED
    assert done == ["a"]


async def test_the_text_is_closed_when_its_task_is_cancelled():
    begun = asyncio.Event()

    async def halting(text: str):
        yield "begun"
        begun.set()
        await asyncio.Event().wait()

    runtime = runtime_of(halting)
    events = runtime.on_message_send_stream(user_message("go"), CALLER)
    task = await anext(events)
    await begun.wait()
    await runtime.on_cancel_task(CancelTaskRequest(id=task.id), CALLER)
    *_, closing, cancelled = [e async for e in events]
    assert closing.last_chunk
    assert cancelled.status.state == TaskState.TASK_STATE_CANCELED


async def test_idle_conversations_are_dropped_while_one_is_busy():
    release = asyncio.Event()

    async def remember(request: AgentRequest) -> str:
        if request.text == "wait":
            await release.wait()
        return str(len(request.history))

    runtime = runtime_of(remember, limits=Limits(conversations=2))
    waiting = asyncio.ensure_future(
        runtime.on_message_send(user_message("wait", context_id="first"), CALLER)
    )
    for n in range(10):
        await runtime.on_message_send(user_message("x", context_id=f"c{n}"), CALLER)
    assert len(runtime.executor._history._turns) == 2
    release.set()
    await waiting


async def test_keyword_arguments_are_passed_by_keyword():
    def keyword(*, text):
        return text

    task = await runtime_of(keyword).on_message_send(user_message('{"text": "hi"}'), CALLER)
    assert answer_of(task) == "hi"


async def test_a_wrapper_around_an_async_function_is_awaited():
    async def inner(text):
        return text.upper()

    def wrapper(text: str):
        return inner(text)

    task = await runtime_of(wrapper).on_message_send(user_message("go"), CALLER)
    assert answer_of(task) == "GO"


async def test_tasks_can_be_listed_while_one_is_cancelled():
    async def endless(text: str):
        yield "begun"
        await asyncio.Event().wait()

    runtime = runtime_of(endless, store=SlowStore())
    request = user_message("go")
    request.configuration.return_immediately = True
    task = await runtime.on_message_send(request, CALLER)
    cancelled, listed = await asyncio.gather(
        runtime.on_cancel_task(CancelTaskRequest(id=task.id), CALLER),
        runtime.on_list_tasks(ListTasksRequest(), CALLER),
    )
    assert cancelled.status.state == TaskState.TASK_STATE_CANCELED
    assert listed.total_size == 1
