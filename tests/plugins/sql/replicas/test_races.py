"""Concurrent requests to two processes are executed once, with consistent answers."""

from __future__ import annotations

import asyncio
import logging

import pytest
from a2a.types import CancelTaskRequest, TaskPushNotificationConfig, TaskState
from a2a.utils.errors import TaskNotCancelableError, UnsupportedOperationError
from a2a_adapters_sql.replicas.locations import Location
from a2a_adapters_sql.task_rows import SaveTask
from starlette.responses import Response

from a2a_adapters import Limits, PushOptions
from a2a_adapters.protocol.messages import new_uuid
from tests.plugins.sql.replicas.test_losses import INPUT_REQUIRED
from tests.plugins.sql.replicas.test_shared import ANN, COMPLETED, Replica, streamed, text_of, until
from tests.plugins.sql.test_database import end_lease
from tests.plugins.sql.test_messages import message
from tests.support.inbox import OPEN, Inbox, inbox, notifying, state_in
from tests.support.postgresql import new_database
from tests.support.processes import PATIENCE

pytestmark = pytest.mark.thorough

QUESTIONS = 8
MANY = 40
END = "TASK_STATE_COMPLETED"
CANCELED = TaskState.TASK_STATE_CANCELED


@pytest.fixture(scope="module")
def url():
    return new_database()


@pytest.fixture(autouse=True)
def no_errors(caplog):
    """Check that no test logs an error."""
    yield
    assert not [r for r in caplog.get_records("call") if r.levelno >= logging.ERROR]


@pytest.fixture
async def replicas(url):
    async with Replica(url).running() as one, Replica(url).running() as other:
        yield one, other


async def asked(replicas):
    """Return waiting tasks that any process can resume."""
    for replica in replicas:
        replica.say(*["end"] * 2 * QUESTIONS)
    questions = [message("later", message_id=new_uuid()) for _ in range(QUESTIONS)]
    sent = [replicas[n % 2].runtime.on_message_send(q, ANN) for n, q in enumerate(questions)]
    tasks = await asyncio.gather(*sent)
    assert {task.status.state for task in tasks} == {INPUT_REQUIRED}
    for replica in replicas:
        replica.agent.calls.clear()
    return tasks


def calls(replicas):
    return sorted([*replicas[0].agent.calls, *replicas[1].agent.calls])


async def read(replica, request):
    return [event async for event in replica.runtime.on_message_send_stream(request, ANN)]


async def test_an_answer_sent_to_two_processes_counts_once(replicas):
    tasks = await asked(replicas)
    sending = [r.send("now", t, message_id=f"answer-{t.id}") for t in tasks for r in replicas]
    results = await asyncio.gather(*sending)
    assert {(task.status.state, text_of(task)) for task in results} == {
        (COMPLETED, "answered now ")
    }
    assert [task.id for task in results[::2]] == [task.id for task in results[1::2]]
    assert calls(replicas) == ["now"] * QUESTIONS


async def test_concurrent_answers_with_a_short_id_do_not_fail(replicas):
    tasks = await asked(replicas)
    sending = [r.send("now", t, message_id="m") for t in tasks for r in replicas]
    results = await asyncio.gather(*sending, return_exceptions=True)
    assert_one_each(results)
    assert calls(replicas) == ["now"] * QUESTIONS


def assert_one_each(results):
    """Assert that one was answered, and the other refused because the task was terminal."""
    for pair in zip(results[::2], results[1::2], strict=True):
        [refused] = [each for each in pair if isinstance(each, Exception)]
        [task] = [each for each in pair if not isinstance(each, Exception)]
        assert isinstance(refused, UnsupportedOperationError)
        assert "is over" in str(refused)
        assert task.status.state == COMPLETED


async def test_of_two_concurrent_answers_one_is_refused(replicas):
    tasks = await asked(replicas)
    sending = [
        replica.send(text, task, message_id=f"{text}-{task.id}")
        for task in tasks
        for replica, text in zip(replicas, ["this", "that"], strict=True)
    ]
    results = await asyncio.gather(*sending, return_exceptions=True)
    assert_one_each(results)
    assert len(calls(replicas)) == QUESTIONS


async def test_a_streamed_answer_sent_to_two_processes_counts_once(replicas):
    tasks = await asked(replicas)
    sending = [
        read(replica, message("now", message_id=f"answer-{task.id}", task_id=task.id))
        for task in tasks
        for replica in replicas
    ]
    results = await asyncio.gather(*sending)
    assert {streamed(events) for events in results} == {"answered now "}
    assert calls(replicas) == ["now"] * QUESTIONS


@pytest.mark.parametrize("is_late", [False, True])
async def test_a_receiver_added_while_an_answer_starts_is_notified(
    replicas, monkeypatch, hold, is_late
):
    """It is stored after the other process has read the receivers, before or after the start."""
    one, other = replicas
    [task, *_] = await asked(replicas)
    has_read, may_answer = hold(other, SaveTask)
    store = one.core._push._configs._store
    set_info = store.set_info

    async def stored(*args):
        await has_read.wait()
        if is_late:
            may_answer.set()
            await until(lambda: one.get(task), lambda task: task.status.state != INPUT_REQUIRED)
        await set_info(*args)

    monkeypatch.setattr(store, "set_info", stored)
    other.agent.words = asyncio.Queue()
    async with inbox() as box:
        config = TaskPushNotificationConfig(task_id=task.id, url=box.url)
        answering = asyncio.ensure_future(other.send("now", task, message_id=f"a-{task.id}"))
        await one.runtime.on_create_task_push_notification_config(config, ANN)
        may_answer.set()
        other.say("end")
        await answering
        await box.until_over()


class Late(Inbox):
    """Responds to the first notification after receiving the end."""

    def __init__(self, status):
        super().__init__()
        self._first = [status]
        self.is_delivering = asyncio.Event()

    async def receive(self, request):
        if not self._first:
            return await super().receive(request)
        self.is_delivering.set()
        answer = Response(status_code=self._first.pop())
        await request.body()
        await self.until_over()
        await super().receive(request)
        return answer


@pytest.mark.parametrize("status", [200, 503])
@pytest.mark.parametrize(("text", "first"), [("later", 60), ("later", 0), ("go", 0)])
async def test_the_end_is_notified_last_if_another_process_ends_the_task(
    url, monkeypatch, text, first, status
):
    """It ends while the question, or the start before it, is being delivered or retried."""
    push = PushOptions(
        outbound=OPEN, pause_seconds=0.01, interval_seconds=first, attempt_seconds=PATIENCE
    )
    limits = Limits(sweep_seconds=0.1, shutdown_seconds=5)
    one, other = Replica(url, limits=limits, push=push), Replica(url, limits=limits, push=push)
    async with inbox(Late(status)) as box, other.running(), one.running():
        request = notifying(box.url, text)
        request.message.message_id = new_uuid()
        task = await one.runtime.on_message_send(request, ANN)
        other.say("end")
        if text == "later":
            await until(lambda: one.get(task), lambda task: task.status.state == INPUT_REQUIRED)
            await other.send("now", task, message_id=new_uuid())
        else:
            await box.is_delivering.wait()
            monkeypatch.setattr(one.storage.database.lease, "is_unbroken", lambda _since: False)
            await end_lease(one.storage, only=True)
        await box.until(lambda bodies: len(bodies) > 2 and state_in(bodies[-1]) == END)
        one.say("end")
    assert state_in(box.bodies[-1]) == END


async def test_concurrent_cancellations_of_a_task(replicas):
    tasks = await asked(replicas)
    sending = [
        replica.runtime.on_cancel_task(CancelTaskRequest(id=task.id), ANN)
        for task in tasks
        for replica in replicas
    ]
    results = await asyncio.gather(*sending, return_exceptions=True)
    for pair in zip(results[::2], results[1::2], strict=True):
        assert any(not isinstance(each, Exception) for each in pair)
        for each in pair:
            if isinstance(each, Exception):
                assert isinstance(each, TaskNotCancelableError)
            else:
                assert each.status.state == CANCELED


async def test_a_task_that_ends_during_cancellations_is_terminal_for_all(replicas, monkeypatch):
    one, other = replicas
    task = await one.begin()
    directory = other.runtime.directory
    locate, is_over = directory.locate, asyncio.Event()
    all_look, first = asyncio.Barrier(MANY + 1), iter(range(MANY))

    async def late(*args):
        if next(first, None) is not None:
            return Location()
        if not is_over.is_set():
            await all_look.wait()
            await is_over.wait()
        return await locate(*args)

    monkeypatch.setattr(directory, "locate", late)
    request = CancelTaskRequest(id=task.id)
    cancelling = [other.runtime.on_cancel_task(request, ANN) for _ in range(MANY)]
    results = asyncio.gather(*cancelling, return_exceptions=True)
    await all_look.wait()
    one.say("end")
    await until(lambda: one.get(task), lambda task: task.status.state == COMPLETED)
    is_over.set()
    assert {type(each) for each in await results} == {TaskNotCancelableError}


async def test_a_concurrently_answered_and_cancelled_task_has_one_end(replicas):
    tasks = await asked(replicas)
    one, other = replicas
    sending = [
        doing
        for task in tasks
        for doing in (
            one.send("now", task, message_id=f"answer-{task.id}"),
            other.runtime.on_cancel_task(CancelTaskRequest(id=task.id), ANN),
        )
    ]
    results = await asyncio.gather(*sending, return_exceptions=True)
    for task, answered, cancelled in zip(tasks, results[::2], results[1::2], strict=True):
        state = (await one.get(task)).status.state
        assert (await other.get(task)).status.state == state
        if state == CANCELED:
            assert cancelled.status.state == CANCELED
            if isinstance(answered, Exception):
                assert isinstance(answered, UnsupportedOperationError)
            else:
                assert answered.status.state == CANCELED
        else:
            assert isinstance(cancelled, TaskNotCancelableError)
            assert text_of(answered) == "answered now "
