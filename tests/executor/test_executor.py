"""The adapter executor beyond the contract."""

from __future__ import annotations

import asyncio
import logging
from contextvars import ContextVar

import pytest
from a2a.server.cluster.task_store import ConcurrentTaskModificationError
from a2a.server.context import ServerCallContext
from a2a.types import CancelTaskRequest, GetTaskRequest, SubscribeToTaskRequest, TaskState

from a2a_adapters import (
    InputRequired,
    InvalidInputError,
    Limits,
    Output,
    ServerOptions,
    Text,
    TextDelta,
    as_executor,
)
from a2a_adapters.executor.turns import RunClock, RunClocks, TimeLimitError
from a2a_adapters.plugin import Adapter, AgentDescription
from a2a_adapters.protocol.card import build_card
from a2a_adapters.runtime import Runtime
from a2a_adapters.testing import answer_of, user_message

CALLER = ServerCallContext()

conversation = ContextVar("conversation", default="nobody's")


class Scripted(Adapter):
    """An adapter made of one async generator function."""

    def __init__(self, script):
        self.script = script
        self.closed = False

    def describe(self):
        return AgentDescription(name="scripted", description="Does what the test says.")

    def stream(self, request):
        return self.script(request)

    async def aclose(self):
        self.closed = True


def runtime_of(script, limits=None):
    adapter = script if isinstance(script, Adapter) else Scripted(script)
    executor = as_executor(adapter, ServerOptions(limits=limits or Limits()))
    return Runtime(executor, build_card(adapter.describe(), "http://x"), limits=limits)


async def test_the_artifacts_are_in_the_order_of_the_events():
    async def script(request):
        yield TextDelta("one ")
        yield Output((Text("between"),), name="extra")
        yield TextDelta("")
        yield TextDelta("\n\n")
        yield TextDelta("two")
        yield Output(())
        yield TextDelta(" three")

    task = await runtime_of(script).on_message_send(user_message("go"), CALLER)
    found = [(artifact.name, artifact.parts[0].text) for artifact in task.artifacts]
    assert found == [("answer", "one "), ("extra", "between"), ("answer", "two three")]


async def test_a_value_that_is_not_an_event_fails_the_task(caplog):
    async def script(request):
        yield "text"

    with caplog.at_level(logging.ERROR):
        task = await runtime_of(script).on_message_send(user_message("go"), CALLER)
    assert task.status.state == TaskState.TASK_STATE_FAILED
    assert "yielded str, not an AgentEvent" in caplog.text


@pytest.mark.parametrize(
    "error", [ValueError, TimeoutError, ConcurrentTaskModificationError], ids=lambda e: e.__name__
)
async def test_the_error_of_an_agent_is_in_the_log_only(error, caplog):
    async def script(request):
        yield TextDelta("before")
        raise error("the reason")

    with caplog.at_level(logging.ERROR):
        task = await runtime_of(script).on_message_send(user_message("go"), CALLER)
    assert task.status.state == TaskState.TASK_STATE_FAILED
    said = task.status.message.parts[0].text
    assert said.startswith("The agent failed.")
    assert "the reason" not in str(task)
    assert said.split()[-1] in caplog.text, "the error id"
    assert "the reason" in caplog.text


async def test_cancel_stops_async_work_at_once():
    begun, ended = asyncio.Event(), []

    async def script(request):
        try:
            begun.set()
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            ended.append(bool(request.cancelled))
            raise
        yield

    runtime = runtime_of(script)
    task = await anext(runtime.on_message_send_stream(user_message("go"), CALLER))
    await begun.wait()
    await runtime.on_cancel_task(CancelTaskRequest(id=task.id), CALLER)
    await runtime.aclose()
    assert ended == [True]


async def test_cancel_of_a_parked_run_closes_it():
    ended = []

    async def script(request):
        try:
            yield InputRequired("?")
        finally:
            ended.append(bool(request.cancelled))

    runtime = runtime_of(script)
    task = await runtime.on_message_send(user_message("go"), CALLER)
    await runtime.on_cancel_task(CancelTaskRequest(id=task.id), CALLER)
    await asyncio.sleep(0)
    assert ended == [True]


async def test_closing_releases_parked_runs_and_the_adapter():
    ended = []

    async def script(request):
        try:
            yield InputRequired("?")
        finally:
            ended.append(True)

    adapter = Scripted(script)
    executor = as_executor(adapter)
    runtime = Runtime(executor, build_card(adapter.describe(), "http://x"))
    await runtime.on_message_send(user_message("go"), CALLER)
    await executor.aclose()
    assert ended == [True]
    assert adapter.closed


async def test_a_parked_run_may_fail_reject_or_ask_again():
    async def script(request):
        answer = yield InputRequired("number?")
        while not answer.text.isdigit():
            if answer.text == "bad":
                raise InvalidInputError("that is no number")
            if answer.text == "crash":
                raise RuntimeError
            answer = yield InputRequired("a number, please")
        yield TextDelta(answer.text)

    runtime = runtime_of(script)
    for replies, state in (
        (["x", "7"], TaskState.TASK_STATE_COMPLETED),
        (["bad"], TaskState.TASK_STATE_REJECTED),
        (["crash"], TaskState.TASK_STATE_FAILED),
        (["x"], TaskState.TASK_STATE_INPUT_REQUIRED),
    ):
        task = await runtime.on_message_send(user_message("go"), CALLER)
        for reply in replies:
            task = await runtime.on_message_send(user_message(reply, task_id=task.id), CALLER)
        assert task.status.state == state
    await runtime.aclose()


async def test_a_question_that_ends_the_generator_completes_with_the_answer():
    async def script(request):
        yield InputRequired("anything else?")

    runtime = runtime_of(script)
    task = await runtime.on_message_send(user_message("go"), CALLER)
    task = await runtime.on_message_send(user_message("no", task_id=task.id), CALLER)
    assert task.status.state == TaskState.TASK_STATE_COMPLETED


async def test_a_second_request_of_a_conversation_is_visible_while_it_waits():
    release, order = asyncio.Event(), []

    async def script(request):
        order.append(request.text)
        await release.wait()
        yield TextDelta(request.text)

    runtime = runtime_of(script)
    streams = [
        runtime.on_message_send_stream(user_message(text, context_id="c"), CALLER)
        for text in ("one", "two")
    ]
    states = [(await anext(events)).status.state for events in streams]
    assert states == [TaskState.TASK_STATE_WORKING, TaskState.TASK_STATE_SUBMITTED]
    assert order == ["one"]
    release.set()
    for events in streams:
        assert [e async for e in events][-1].status.state == TaskState.TASK_STATE_COMPLETED
    assert order == ["one", "two"]


class Remembering(Scripted):
    uses_history = True


async def recall(request):
    if request.text == "crash":
        raise RuntimeError
    yield TextDelta(",".join(turn.text for turn in request.history))


async def test_the_answer_to_a_question_has_the_history():
    async def script(request):
        answer = yield InputRequired("where?")
        yield TextDelta(" ".join(turn.text for turn in answer.history))

    runtime = runtime_of(Remembering(script))
    task = await runtime.on_message_send(user_message("fly"), CALLER)
    task = await runtime.on_message_send(user_message("Rome", task_id=task.id), CALLER)
    assert answer_of(task) == "fly where?"


async def test_history_is_bounded_and_skips_failures():
    runtime = runtime_of(Remembering(recall), Limits(history_messages=4))
    answers = []
    for text in ("a", "b", "crash", "c", "d"):
        request = user_message(text, context_id="c")
        answers.append(answer_of(await runtime.on_message_send(request, CALLER)))
    assert answers[:4] == ["", "a,", "", "a,,b,a,"]
    assert len(answers[4].split(",")) > 4
    assert answers[4].startswith("b,")


async def test_idle_and_surplus_conversations_are_forgotten():
    async def say(runtime, text, context_id):
        request = user_message(text, context_id=context_id)
        return answer_of(await runtime.on_message_send(request, CALLER))

    forgetful = runtime_of(Remembering(recall), Limits(history_seconds=0))
    await say(forgetful, "a", "one")
    assert await say(forgetful, "b", "one") == ""
    small = runtime_of(Remembering(recall), Limits(conversations=1))
    await say(small, "a", "one")
    await say(small, "b", "two")
    assert await say(small, "c", "two") == "b,"
    assert await say(small, "d", "one") == ""


@pytest.mark.parametrize("chunks", [1, 2, 100])
async def test_the_stored_text_is_one_part(chunks):
    async def script(request):
        for n in range(chunks):
            yield TextDelta(f"{n} ")

    runtime = runtime_of(script)
    task = await runtime.on_message_send(user_message("go"), CALLER)
    [artifact] = task.artifacts
    [part] = artifact.parts
    assert part.text == "".join(f"{n} " for n in range(chunks))
    assert await runtime.on_get_task(GetTaskRequest(id=task.id), CALLER) == task


class Durable(Scripted):
    def __init__(self):
        super().__init__(self.ask)
        self.abandoned = []

    async def ask(self, request):
        yield InputRequired("?", durable=True, metadata={"of": request.context_id})

    async def abandon(self, request):
        self.abandoned.append((request.context_id, request.resume_metadata["of"]))
        raise RuntimeError("this must not keep the task from ending")


async def test_durable_questions_are_given_up_when_cancelled_or_too_late():
    adapter = Durable()
    runtime = runtime_of(adapter, Limits(input_seconds=0.05))
    cancelled = await runtime.on_message_send(user_message("go", context_id="a"), CALLER)
    await runtime.on_cancel_task(CancelTaskRequest(id=cancelled.id), CALLER)
    late = await runtime.on_message_send(user_message("go", context_id="b"), CALLER)
    events = runtime.on_subscribe_to_task(SubscribeToTaskRequest(id=late.id), CALLER)
    last = [event async for event in events][-1]
    assert last.status.state == TaskState.TASK_STATE_FAILED
    assert adapter.abandoned == [("a", "a"), ("b", "b")]


async def run(clocks: RunClocks, name: str, seen: list[tuple[str, str]]) -> None:
    """Run until the clock stops it; record the context in which that happens."""
    conversation.set(name)
    async with RunClock(clocks, lambda reason: seen.append((conversation.get(), reason))):
        await asyncio.Event().wait()


async def test_each_clock_stops_its_own_run():
    clocks, seen = RunClocks(Limits(idle_seconds=0.3)), []
    async with RunClock(clocks, seen.append):  # the timer is set by a run that ends at once
        pass
    errors = await asyncio.gather(
        run(clocks, "quiet", seen), run(clocks, "quiet too", seen), return_exceptions=True
    )
    assert [type(error) for error in errors] == [TimeLimitError] * 2
    idle = "The agent was stopped: nothing came from it for 0.3 s."
    assert sorted(seen) == [("quiet", idle), ("quiet too", idle)]


async def test_a_run_that_begins_after_the_timer_looked_is_stopped_too():
    clocks, seen = RunClocks(Limits(idle_seconds=0.05)), []
    for name in ("first", "second"):
        with pytest.raises(TimeLimitError):
            await run(clocks, name, seen)
    assert [who for who, _ in seen] == ["first", "second"]


def test_clocks_work_in_a_second_loop():
    clocks, seen = RunClocks(Limits(idle_seconds=0.05)), []

    async def shortly() -> None:
        async with RunClock(clocks, lambda reason: None):
            pass

    asyncio.run(shortly())
    with pytest.raises(TimeLimitError):
        asyncio.run(run(clocks, "later", seen))
