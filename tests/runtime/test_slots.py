"""Agents that ignore cancellation: slots and conversations are released."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace

import pytest
from a2a.server.agent_execution import AgentExecutor
from a2a.server.context import ServerCallContext
from a2a.types import CancelTaskRequest, GetTaskRequest, Task, TaskState, TaskStatus

from a2a_adapters import (
    InputRequired,
    Limits,
    Output,
    Progress,
    Rejected,
    Reply,
    ServerOptions,
    TaskMetadata,
    Text,
    TextDelta,
    ToolCall,
    as_executor,
)
from a2a_adapters.executor import executor as executing
from a2a_adapters.plugin import PROGRESS_EXTENSION, Adapter, AgentDescription
from a2a_adapters.protocol.card import build_card
from a2a_adapters.protocol.errors import ServerBusyError
from a2a_adapters.runtime import Runtime
from a2a_adapters.testing import answer_of, user_message

CALLER = ServerCallContext()
ONE = Limits(runs=1, queued_runs=0, run_seconds=1, shutdown_seconds=0.1, sweep_seconds=0.05)


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    """Check stopped runs without delay."""
    monkeypatch.setattr(executing, "_STOP_SECONDS", 0.05)
    monkeypatch.setattr(executing, "_CLOSE_SECONDS", 0.05, raising=False)


class Scripted(Adapter):
    """An adapter made of one async generator function."""

    def __init__(self, script, close=None):
        self.script = script
        self.close = close

    def describe(self):
        return AgentDescription(name="scripted", description="Does what the test says.")

    def stream(self, request):
        return self.script(request)

    async def aclose(self):
        if self.close:
            await self.close()


class Deaf:
    """Ends when released and ignores cancellation, except at the end of the test."""

    def __init__(self):
        self.held = 0
        self.holds = asyncio.Event()
        self._go, self._gone = asyncio.Event(), asyncio.Event()

    async def hold(self):
        self.held += 1
        self.holds.set()
        for _ in range(20):
            with suppress(BaseException):
                await self._go.wait()
                break
        self.held -= 1
        self._gone.set()

    async def let_go(self):
        self._go.set()
        if self.held:
            await self._gone.wait()


def runtime_of(script, limits=ONE, close=None):
    if isinstance(script, AgentExecutor):
        card = build_card(AgentDescription(name="sdk", description="An executor."), "http://x")
        return Runtime(script, card, limits=limits)
    adapter = Scripted(script, close)
    executor = as_executor(adapter, ServerOptions(limits=limits))
    return Runtime(executor, build_card(adapter.describe(), "http://x"), limits=limits)


async def answered(runtime, text):
    """Send until the server is no longer busy."""
    while True:
        try:
            return await runtime.on_message_send(user_message(text), CALLER)
        except ServerBusyError:
            await asyncio.sleep(0.01)


async def in_clean_up(deaf, request):
    try:
        yield TextDelta("begun")
        await asyncio.Event().wait()
    finally:
        await deaf.hold()


async def swallowing(deaf, request):
    yield TextDelta("begun")
    await deaf.hold()


async def after_a_rejection(deaf, request):
    try:
        yield Rejected("no")
    finally:
        await deaf.hold()


def either(hangs, deaf):
    async def say(request):
        yield TextDelta(request.text)

    return lambda request: hangs(deaf, request) if request.text == "hang" else say(request)


async def check(runtime, deaf, hung, caplog):
    """The next caller is answered, and nothing remains of the hanging run once it is released."""
    assert answer_of(await answered(runtime, "hello")) == "hello"
    assert hung in caplog.text
    assert deaf.held == 1
    await deaf.let_go()
    assert answer_of(await answered(runtime, "again")) == "again"
    assert not runtime.figures.messages
    assert runtime.live.memory.taken == 0
    await runtime.aclose()


@pytest.mark.parametrize("hangs", [in_clean_up, swallowing, after_a_rejection])
async def test_a_hanging_agent_returns_its_slot(hangs, caplog):
    deaf = Deaf()
    runtime = runtime_of(either(hangs, deaf))
    await runtime.start()
    async with asyncio.timeout(60):
        hung = await runtime.on_message_send(user_message("hang"), CALLER)
        await deaf.holds.wait()
        await check(runtime, deaf, hung.id, caplog)
        assert runtime.executor._turns.slots._value == 1, "no slot came back twice"


@pytest.mark.parametrize("hangs", [in_clean_up, swallowing])
async def test_an_agent_that_hangs_when_cancelled_returns_its_slot(hangs, caplog):
    deaf = Deaf()
    runtime = runtime_of(either(hangs, deaf), replace(ONE, run_seconds=60))
    await runtime.start()
    async with asyncio.timeout(60):
        events = runtime.on_message_send_stream(user_message("hang"), CALLER)
        hung = await anext(events)
        while not hasattr(await anext(events), "artifact"):
            pass
        await runtime.on_cancel_task(CancelTaskRequest(id=hung.id), CALLER)
        await deaf.holds.wait()
        await check(runtime, deaf, hung.id, caplog)
        assert runtime.executor._turns.slots._value == 1, "no slot came back twice"


async def test_a_question_whose_agent_hangs_can_be_answered(caplog):
    deaf = Deaf()

    async def asks(deaf, request):
        try:
            yield InputRequired("?", durable=True)
        finally:
            await deaf.hold()

    runtime = runtime_of(either(asks, deaf))
    await runtime.start()
    async with asyncio.timeout(60):
        asked = await runtime.on_message_send(user_message("hang"), CALLER)
        while True:
            try:
                request = user_message("thanks", task_id=asked.id)
                done = await runtime.on_message_send(request, CALLER)
                break
            except ServerBusyError:
                await asyncio.sleep(0.01)
        assert answer_of(done) == "thanks"
        await check(runtime, deaf, asked.id, caplog)


class SdkExecutor(AgentExecutor):
    """Completes its task and then never ends."""

    def __init__(self, deaf):
        self._deaf = deaf

    async def execute(self, context, event_queue):
        text = context.message.parts[0].text
        state = TaskState.TASK_STATE_COMPLETED
        task = Task(id=context.task_id, context_id=context.context_id)
        task.status.CopyFrom(TaskStatus(state=state))
        task.artifacts.add(artifact_id="a").parts.add(text=text)
        await event_queue.enqueue_event(task)
        if text == "hang":
            await self._deaf.hold()

    async def cancel(self, context, event_queue):
        raise NotImplementedError


async def test_an_sdk_executor_that_never_ends_returns_its_capacity(caplog):
    deaf = Deaf()
    runtime = runtime_of(SdkExecutor(deaf))
    await runtime.start()
    async with asyncio.timeout(60):
        hung = await runtime.on_message_send(user_message("hang"), CALLER)
        await check(runtime, deaf, hung.id, caplog)


async def raises():
    raise RuntimeError("no way")


@pytest.mark.parametrize("how", ["hangs", "swallows", "raises"])
async def test_an_adapter_that_does_not_close_blocks_no_shutdown(how, caplog):
    deaf = Deaf()
    close = {"hangs": asyncio.Event().wait, "swallows": deaf.hold, "raises": raises}[how]
    runtime = runtime_of(either(swallowing, deaf), close=close)
    async with asyncio.timeout(60):
        await runtime.executor.aclose()
    assert "close" in caplog.text
    await deaf.let_go()


class Odd:
    """An object that adapters must not yield."""

    def __repr__(self):
        return "Odd()"


async def test_an_adapter_that_raises_generator_exit_fails_its_task():
    for begins in (False, True):

        async def script(request, begins=begins):
            if begins:
                yield TextDelta("begun")
            raise GeneratorExit

        async with asyncio.timeout(60):
            task = await runtime_of(script).on_message_send(user_message("go"), CALLER)
        assert task.status.state == TaskState.TASK_STATE_FAILED


@pytest.mark.parametrize(
    "nonsense",
    [
        None,
        5,
        Odd(),
        TextDelta(b"bytes"),
        TextDelta(None),
        Output([Odd()]),
        Output((Text(5),)),
        Output((Text("x"),), name=5),
        Rejected(Odd()),
        InputRequired(5),
        InputRequired("?", metadata=Odd()),
        Reply(5),
        TaskMetadata(5),
        Progress(5),
        ToolCall(Odd(), Odd(), Odd()),
    ],
    ids=repr,
)
@pytest.mark.parametrize("begins", [False, True])
async def test_invalid_events_fail_the_task(nonsense, begins):
    async def script(request):
        if begins:
            yield TextDelta("begun")
        yield nonsense

    runtime = runtime_of(script)
    context = ServerCallContext(requested_extensions={PROGRESS_EXTENSION})
    async with asyncio.timeout(60):
        task = await runtime.on_message_send(user_message("go"), context)
        assert task.status.state == TaskState.TASK_STATE_FAILED
        stored = await runtime.on_get_task(GetTaskRequest(id=task.id), context)
        assert stored.status.state == TaskState.TASK_STATE_FAILED
        assert not runtime.figures.messages
