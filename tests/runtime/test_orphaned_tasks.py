"""Unfinished tasks of an earlier process in a store."""

from __future__ import annotations

import time

import pytest
from a2a.server.context import ServerCallContext
from a2a.server.tasks import InMemoryTaskStore
from a2a.types import (
    CancelTaskRequest,
    GetTaskRequest,
    ListTasksRequest,
    SubscribeToTaskRequest,
    Task,
    TaskState,
    TaskStatus,
)
from a2a.utils.errors import TaskNotCancelableError, UnsupportedOperationError
from google.protobuf.timestamp_pb2 import Timestamp

from a2a_adapters import Limits, as_executor
from a2a_adapters.protocol.card import build_card
from a2a_adapters.runtime import Runtime
from a2a_adapters.testing import user_message

CALLER = ServerCallContext()
WORKING, FAILED = TaskState.TASK_STATE_WORKING, TaskState.TASK_STATE_FAILED
INPUT_REQUIRED = TaskState.TASK_STATE_INPUT_REQUIRED


async def store_with(state, *, age=60.0, count=1, kind=InMemoryTaskStore):
    """Return a store with tasks of a given age in seconds."""
    store = kind()
    changed = Timestamp()
    changed.FromMicroseconds(int((time.time() - age) * 1e6))
    status = TaskStatus(state=state, timestamp=changed)
    for number in range(count):
        task = Task(id=f"old{number}", context_id="c", status=status)
        await InMemoryTaskStore.save(store, task, CALLER)
    return store


def runtime_of(store, **limits):
    executor = as_executor(lambda text: text)
    card = build_card(executor.adapter.describe(), "http://x")
    return Runtime(executor, card, task_store=store, limits=Limits(**limits))


@pytest.mark.parametrize("state", [WORKING, TaskState.TASK_STATE_SUBMITTED])
async def test_an_orphaned_task_has_failed_for_its_reader(state):
    store = await store_with(state)
    runtime = runtime_of(store)
    task = await runtime.on_get_task(GetTaskRequest(id="old0"), CALLER)
    assert task.status.state == FAILED
    assert "stopped while it worked on this task" in task.status.message.parts[0].text
    assert (await store.get("old0", CALLER)).status.state == FAILED


async def test_every_operation_sees_it_as_terminal():
    for operation, error in (
        (lambda r: r.on_cancel_task(CancelTaskRequest(id="old0"), CALLER), TaskNotCancelableError),
        (
            lambda r: anext(r.on_subscribe_to_task(SubscribeToTaskRequest(id="old0"), CALLER)),
            UnsupportedOperationError,
        ),
        (
            lambda r: r.on_message_send(user_message("more", task_id="old0"), CALLER),
            UnsupportedOperationError,
        ),
    ):
        with pytest.raises(error):
            await operation(runtime_of(await store_with(WORKING)))


async def test_lists_show_its_failure():
    runtime = runtime_of(await store_with(WORKING, count=3))
    working = await runtime.on_list_tasks(ListTasksRequest(status=WORKING), CALLER)
    assert len(working.tasks) == 0
    failed = await runtime.on_list_tasks(ListTasksRequest(status=FAILED), CALLER)
    assert len(failed.tasks) == 3


async def test_a_task_begun_since_the_start_belongs_to_another_process():
    """Two processes with one store are not supported, but not made worse either."""
    runtime = runtime_of(await store_with(WORKING, age=-60))
    task = await runtime.on_get_task(GetTaskRequest(id="old0"), CALLER)
    assert task.status.state == WORKING


async def test_a_question_keeps_its_time_limit_after_a_restart():
    store = await store_with(INPUT_REQUIRED)
    waiting = await runtime_of(store).on_get_task(GetTaskRequest(id="old0"), CALLER)
    assert waiting.status.state == INPUT_REQUIRED
    runtime = runtime_of(store, input_seconds=30)
    expired = await runtime.on_get_task(GetTaskRequest(id="old0"), CALLER)
    assert expired.status.state == FAILED
    assert "no answer came in time" in expired.status.message.parts[0].text


class ReadOnly(InMemoryTaskStore):
    async def save(self, task, context):
        raise OSError("read only")


async def test_a_read_only_store_still_returns_its_tasks(caplog):
    runtime = runtime_of(await store_with(WORKING, kind=ReadOnly))
    task = await runtime.on_get_task(GetTaskRequest(id="old0"), CALLER)
    assert task.status.state == WORKING
    assert "could not be ended" in caplog.text
