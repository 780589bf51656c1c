"""Two runtimes on one database: each serves all operations on all tasks."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

import pytest
from a2a.server.context import ServerCallContext
from a2a.types import (
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTasksRequest,
    SendMessageRequest,
    SubscribeToTaskRequest,
    Task,
    TaskPushNotificationConfig,
    TaskState,
)
from a2a.utils.errors import InvalidParamsError, TaskNotFoundError, UnsupportedOperationError
from a2a_adapters_sql.replicas import replica as shared

from a2a_adapters import (
    Caller,
    InputRequired,
    Limits,
    PushOptions,
    ServerOptions,
    TextDelta,
    as_executor,
)
from a2a_adapters.contract.caller import CALLER
from a2a_adapters.plugin import Adapter, AgentDescription
from a2a_adapters.protocol.card import build_card
from a2a_adapters.protocol.owner import Owner
from a2a_adapters.runtime import Runtime
from tests.plugins.sql.conftest import storage_at
from tests.plugins.sql.replicas.carriers import CARRIERS
from tests.plugins.sql.test_messages import message
from tests.support.inbox import OPEN, inbox
from tests.support.postgresql import new_database
from tests.support.processes import PATIENCE

ANN = ServerCallContext(user=Owner("ann"))
BOB = ServerCallContext(user=Owner("bob"))
COMPLETED = TaskState.TASK_STATE_COMPLETED
WORKING = TaskState.TASK_STATE_WORKING
PUSH = PushOptions(outbound=OPEN)
LIMITS = Limits(sweep_seconds=0.1, shutdown_seconds=0)


class Steps(Adapter):
    """Sends a word when allowed, optionally after a question. Resumable."""

    resumes = True

    def __init__(self) -> None:
        self.words = asyncio.Queue()
        self.was_stopped = asyncio.Event()
        self.calls = []
        self.answers = []

    def describe(self):
        return AgentDescription(name="steps", description="Says words.")

    def stream(self, request):
        return self._say(request)

    def resume(self, request):
        return self._say(request)

    async def _say(self, request):
        self.calls.append(request.text)
        try:
            if request.text == "ask" or (request.text == "later" and not request.resuming):
                answer = yield InputRequired("which?", durable=request.text == "later")
                self.answers.append(answer.caller)
                yield TextDelta(f"heard {answer.text} ")
            if request.resuming and request.text == "again":
                yield InputRequired("and?", durable=True)
            if request.resuming:
                yield TextDelta(f"answered {request.text} ")
            while (word := await self.words.get()) != "end":
                yield TextDelta(word)
        except asyncio.CancelledError:
            self.was_stopped.set()
            raise
        finally:
            if request.cancelled:
                self.was_stopped.set()


class Replica:
    """A process: its storage, agent and runtime."""

    def __init__(self, url, bus=None, agent=None, limits=LIMITS, push=PUSH):
        self.storage = storage_at(url, limits, bus)
        self.agent = agent or Steps()
        card = build_card(self.agent.describe(), "http://x", push=True)
        executor = as_executor(self.agent, ServerOptions(limits=limits))
        storage = self.storage.of("steps")
        self.core = Runtime(executor, card, storage=storage, limits=limits, push=push)
        self.storage.on_trouble(self.core.on_storage_trouble)
        self.runtime = storage.replicate(self.core)

    @asynccontextmanager
    async def running(self):
        await self.storage.start()
        await self.runtime.start()
        try:
            yield self
        finally:
            await self.runtime.aclose()
            await self.storage.aclose(1)

    def stop_upkeep(self):
        """Disable recovery and the release of tasks, except by `sweep`."""
        self.runtime._upkeep.close()
        self.core._upkeep.close()

    async def sweep(self):
        await self.runtime.locator.let_go()
        await self.core.recovery.sweep()

    def say(self, *words):
        for word in words:
            self.agent.words.put_nowait(word)

    async def begin(self, text="go", **fields):
        request = message(text, **fields)
        request.configuration.return_immediately = True
        return await self.runtime.on_message_send(request, ANN)

    def send(self, text, task, **fields):
        request = message(text, task_id=task.id, **fields)
        return self.runtime.on_message_send(request, ANN)

    def get(self, task, caller=ANN):
        return self.runtime.on_get_task(GetTaskRequest(id=task.id), caller)

    def follow(self, task):
        return self.runtime.on_subscribe_to_task(SubscribeToTaskRequest(id=task.id), ANN)


@asynccontextmanager
async def two_over(carrier):
    """Run two processes connected by a carrier."""
    url = new_database()
    bus = CARRIERS[carrier](url).bus
    async with Replica(url, bus).running() as one, Replica(url, bus).running() as other:
        yield one, other


@pytest.fixture(params=CARRIERS)
async def replicas(request, monkeypatch):
    # A slow machine is no outage.
    monkeypatch.setattr("a2a_adapters_sql.database.PATIENCE_SECONDS", PATIENCE)
    async with two_over(request.param) as both:
        yield both


def text_of(task):
    return "".join(part.text for artifact in task.artifacts for part in artifact.parts)


def streamed(events):
    """Return the text of events."""
    text = ""
    for event in events:
        if isinstance(event, Task):
            text = text_of(event)
        elif hasattr(event, "artifact"):
            text += "".join(part.text for part in event.artifact.parts)
    return text


async def until(ask, is_so):
    while True:
        if is_so(found := await ask()):
            return found
        await asyncio.sleep(0.02)


async def test_a_task_is_current_at_every_process(replicas, monkeypatch):
    monkeypatch.setattr(shared, "_LISTING_SECONDS", PATIENCE)
    one, other = replicas
    task = await one.begin()
    one.say("a ")
    await until(lambda: one.get(task), lambda task: text_of(task) == "a ")
    assert text_of(await other.get(task)) == "a "
    one.say("b ")
    await until(lambda: one.get(task), lambda task: text_of(task) == "a b ")
    listing = ListTasksRequest(include_artifacts=True)
    # Tasks of a process that is too slow to answer are listed as stored.
    await until(
        lambda: other.runtime.on_list_tasks(listing, ANN),
        lambda listed: [text_of(task) for task in listed.tasks] == ["a b "],
    )
    with pytest.raises(TaskNotFoundError):
        await other.get(task, BOB)
    one.say("end")
    await until(lambda: other.get(task), lambda task: task.status.state == COMPLETED)


async def test_a_remote_stream_has_every_event_once_and_in_order(replicas, caplog):
    one, other = replicas
    task = await one.begin()
    words = [f"{number} " for number in range(200)]
    one.say(*words[:50])
    stream = other.follow(task)
    events = [await anext(stream)]
    one.say(*words[50:], "end")
    events += [event async for event in stream]
    assert isinstance(events[0], Task)
    # On a busy machine the bus may lose its connection; readers then get the whole task again.
    snapshots = sum(isinstance(event, Task) for event in events[1:])
    assert snapshots <= caplog.text.count("the bus lost its connection")
    assert streamed(events) == "".join(words)
    assert events[-1].status.state == COMPLETED
    with pytest.raises(UnsupportedOperationError):
        await anext(other.follow(task))


async def test_a_large_event_arrives_whole(replicas):
    one, other = replicas
    task = await one.begin()
    stream = other.follow(task)
    events = [await anext(stream)]
    large = "ü" * 300_000
    one.say(large, "end")
    events += [event async for event in stream]
    assert streamed(events) == large


async def test_a_cancellation_stops_the_process_that_runs_the_task(replicas):
    one, other = replicas
    task = await one.begin()
    one.say("a")
    await until(lambda: other.get(task), lambda task: text_of(task) == "a")
    canceled = await other.runtime.on_cancel_task(CancelTaskRequest(id=task.id), ANN)
    assert canceled.status.state == TaskState.TASK_STATE_CANCELED
    assert (await one.get(task)).status.state == TaskState.TASK_STATE_CANCELED
    async with asyncio.timeout(60):
        await one.agent.was_stopped.wait()


async def test_an_answer_reaches_the_waiting_process(replicas):
    one, other = replicas
    asked = await one.runtime.on_message_send(message("ask"), ANN)
    assert asked.status.state == TaskState.TASK_STATE_INPUT_REQUIRED
    one.say("end")
    done = await other.send("this", asked, message_id="message-2")
    assert done.status.state == COMPLETED
    assert text_of(done) == "heard this "
    again = await other.send("this", asked, message_id="message-2")
    assert again == done
    assert other.agent.calls == []


async def test_an_answer_brings_what_is_known_about_its_caller(replicas):
    one, other = replicas
    known = {"claims": {"team": ["a", 1]}, "scopes": frozenset({"b", "c"}), "tenant": "acme"}
    ann = Caller(owner="ann", headers={"x-plan": "gold"}, **known)
    asked = await one.runtime.on_message_send(message("ask"), ANN)
    one.say("end")
    request = message("this", message_id="message-2", task_id=asked.id)
    await other.runtime.on_message_send(
        request, ServerCallContext(user=Owner("ann"), state={CALLER: ann})
    )
    assert one.agent.answers == [ann]


async def test_an_answer_may_be_streamed_from_another_process(replicas):
    one, other = replicas
    asked = await one.runtime.on_message_send(message("ask"), ANN)
    one.say("more ", "end")
    request = message("that", message_id="message-2", task_id=asked.id)
    events = [event async for event in other.runtime.on_message_send_stream(request, ANN)]
    assert streamed(events) == "heard that more "
    assert events[-1].status.state == COMPLETED


async def test_a_durable_question_is_answered_and_followed_at_any_process(replicas):
    one, other = replicas
    asked = await one.runtime.on_message_send(message("later"), ANN)
    stream = one.follow(asked)
    events = [await anext(stream)]
    other.say("end")
    done = await other.send("now", asked, message_id="message-2")
    assert text_of(done) == "answered now "
    assert other.agent.calls == ["now"]
    assert await one.get(asked) == done
    events += [event async for event in stream]
    assert streamed(events) == "answered now "
    assert events[-1].status.state == COMPLETED


async def test_a_message_sent_to_both_concurrently_starts_one_task(replicas):
    sent = [message(f"go {number}", message_id=f"message-{number}") for number in range(10)]
    for replica in replicas:
        replica.say(*["end"] * len(sent))

    async def send(replica, request):
        copy = SendMessageRequest()
        copy.CopyFrom(request)
        return await replica.runtime.on_message_send(copy, ANN)

    results = await asyncio.gather(*(send(r, request) for request in sent for r in replicas))
    assert [task.id for task in results[::2]] == [task.id for task in results[1::2]]
    assert {task.status.state for task in results} == {COMPLETED}
    done = [*replicas[0].agent.calls, *replicas[1].agent.calls]
    assert sorted(done) == sorted(f"go {number}" for number in range(10))


async def test_a_message_repeated_at_another_process_is_read_remotely(replicas):
    one, other = replicas
    first = one.runtime.on_message_send_stream(message("go"), ANN)
    task = await anext(first)
    stream = other.runtime.on_message_send_stream(message("go"), ANN)
    events = [await anext(stream)]
    one.say("a ", "b ", "end")
    events += [event async for event in stream]
    assert {event.id for event in events if isinstance(event, Task)} == {task.id}
    await first.aclose()
    assert streamed(events) == "a b "


@pytest.mark.parametrize("text", ["ask", "later"])
async def test_a_message_repeated_at_another_process_is_read_to_the_question(replicas, text):
    one, other = replicas
    asked = await one.runtime.on_message_send(message(text), ANN)
    [results] = [event async for event in other.runtime.on_message_send_stream(message(text), ANN)]
    assert results == asked


async def test_push_configs_may_be_set_at_any_process(replicas):
    one, other = replicas
    task = await one.begin()
    async with inbox() as box, inbox() as deaf:
        for number, url in enumerate([box.url, deaf.url]):
            config = TaskPushNotificationConfig(task_id=task.id, id=f"{number}", url=url)
            await other.runtime.on_create_task_push_notification_config(config, ANN)
        gone = DeleteTaskPushNotificationConfigRequest(task_id=task.id, id="1")
        await other.runtime.on_delete_task_push_notification_config(gone, ANN)
        one.say("a", "end")
        await box.until_over()
        assert deaf.bodies == []


async def test_refusals_come_from_the_process_of_the_task(replicas):
    one, other = replicas
    task = await one.begin()
    with pytest.raises(InvalidParamsError, match="belongs to another context"):
        await other.send("more", task, context_id="another", message_id="message-2")
    stream = other.runtime.on_message_send_stream(
        message("more", message_id="message-3", task_id=task.id, context_id="another"), ANN
    )
    with pytest.raises(InvalidParamsError, match="belongs to another context"):
        await anext(stream)
