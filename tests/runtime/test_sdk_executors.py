"""Executors written with a2a-sdk run unchanged."""

from __future__ import annotations

import asyncio
import logging

import pytest
from a2a.server.tasks import TaskUpdater
from a2a.types import Artifact, CancelTaskRequest, Message, Part, Task, TaskState, TaskStatus
from a2a.utils.errors import TaskNotCancelableError

from a2a_adapters import build_app
from a2a_adapters.testing import answer_of, connect, running, send, user_message
from tests.runtime.test_runtime import CALLER, Executor, runtime_of


def updater(queue, context):
    return TaskUpdater(queue, context.task_id, context.context_id)


def new_task(context, state=TaskState.TASK_STATE_SUBMITTED):
    status = TaskStatus(state=state)
    return Task(id=context.task_id, context_id=context.context_id, status=status)


async def test_an_sdk_executor_runs_unchanged():
    async def work(queue, context):
        await queue.enqueue_event(new_task(context))
        writer = updater(queue, context)
        await writer.start_work()
        await writer.add_artifact([Part(text="one")], artifact_id="a")
        await writer.add_artifact([Part(text="two")], artifact_id="a", append=True, last_chunk=True)
        await writer.complete(writer.new_agent_message([Part(text="done")]))

    async with running(build_app(Executor(work))) as url, connect(url) as client:
        task = await send(client, user_message("go"))
    assert [[part.text for part in a.parts] for a in task.artifacts] == [["one", "two"]]
    assert task.status.message.parts[0].text == "done"


async def test_a_task_left_open_by_its_executor_is_completed():
    async def nothing(queue, context):
        pass

    async def only_working(queue, context):
        await updater(queue, context).start_work()

    for work in (nothing, only_working):
        task = await runtime_of(Executor(work)).on_message_send(user_message("go"), CALLER)
        assert task.status.state == TaskState.TASK_STATE_COMPLETED
        assert task.history[0].parts[0].text == "go"


async def test_an_executor_that_breaks_the_rules_fails_its_task(caplog):
    async def unknown_artifact(queue, context):
        await updater(queue, context).add_artifact([Part(text="x")], artifact_id="a", append=True)

    async def other_task(queue, context):
        await queue.enqueue_event(Task(id="other", context_id=context.context_id))

    async def message_in_task(queue, context):
        await queue.enqueue_event(new_task(context))
        await queue.enqueue_event(Message(message_id="m", parts=[Part(text="x")]))

    async def raising(queue, context):
        raise RuntimeError("hunter2")

    async def cancelled(queue, context):
        raise asyncio.CancelledError

    for work in (unknown_artifact, message_in_task, raising, cancelled):
        task = await runtime_of(Executor(work)).on_message_send(user_message("go"), CALLER)
        assert task.status.state == TaskState.TASK_STATE_FAILED
        assert "hunter2" not in str(task)
    with caplog.at_level(logging.ERROR):
        task = await runtime_of(Executor(other_task)).on_message_send(user_message("go"), CALLER)
    assert task.status.state == TaskState.TASK_STATE_FAILED


async def test_events_after_the_end_are_dropped():
    async def work(queue, context):
        await updater(queue, context).complete()
        await updater(queue, context).add_artifact([Part(text="late")])

    task = await runtime_of(Executor(work)).on_message_send(user_message("go"), CALLER)
    assert task.status.state == TaskState.TASK_STATE_COMPLETED
    assert not task.artifacts


async def test_artifacts_and_tasks_can_be_replaced():
    async def work(queue, context):
        await queue.enqueue_event(new_task(context))
        writer = updater(queue, context)
        await writer.add_artifact([Part(text="old")], artifact_id="a")
        await writer.add_artifact([Part(text="new")], artifact_id="a", metadata={"k": 1})
        final = new_task(context, TaskState.TASK_STATE_COMPLETED)
        final.artifacts.append(Artifact(artifact_id="b", parts=[Part(text="final")]))
        assert answer_of(context_task(queue)) == "new"
        await queue.enqueue_event(final)

    def context_task(queue):
        return queue.live.task

    task = await runtime_of(Executor(work)).on_message_send(user_message("go"), CALLER)
    assert answer_of(task) == "final"


async def complete(queue, context):
    await updater(queue, context).complete()


async def nothing(queue, context):
    pass


@pytest.fixture
async def working():
    """Return a function that runs a task with a way to cancel it; return its runtime and id."""
    gate = asyncio.Event()

    async def work(queue, context):
        await updater(queue, context).start_work()
        await gate.wait()

    async def begin(cancel):
        runtime = runtime_of(Executor(work, cancel))
        task = await anext(runtime.on_message_send_stream(user_message("go"), CALLER))
        return runtime, CancelTaskRequest(id=task.id)

    yield begin
    gate.set()


@pytest.mark.parametrize("cancel", [None, complete], ids=["impossible", "completes instead"])
async def test_a_task_that_is_not_cancelled(working, cancel):
    runtime, request = await working(cancel)
    with pytest.raises(TaskNotCancelableError):
        await runtime.on_cancel_task(request, CALLER)


async def test_an_executor_whose_cancel_does_nothing(working):
    runtime, request = await working(nothing)
    cancelled = await runtime.on_cancel_task(request, CALLER)
    assert cancelled.status.state == TaskState.TASK_STATE_CANCELED
