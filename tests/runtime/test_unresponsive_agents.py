"""Agents and background work that ignore or break their cancellation: what runs ends anyway."""

from __future__ import annotations

import asyncio

import pytest
from a2a.types import CancelTaskRequest, GetTaskRequest, ListTasksRequest, TaskState

from a2a_adapters import Limits, ServerOptions, TextDelta, as_executor
from a2a_adapters.concurrency.threads import outliving_calls
from a2a_adapters.plugin import Adapter, AgentDescription
from a2a_adapters.protocol.errors import StorageUnavailableError
from a2a_adapters.runtime.upkeep import Upkeep
from a2a_adapters.testing import answer_of, user_message
from tests.runtime.test_runtime import CALLER, runtime_of


class Deaf:
    """An agent that catches its cancellation, and ends when released."""

    def __init__(self):
        self.release = asyncio.Event()
        self.ended = asyncio.Event()

    async def wait(self):
        while not self.release.is_set():
            try:
                await self.release.wait()
            except asyncio.CancelledError:
                continue

    async def whole(self, text: str):
        await self.wait()
        self.ended.set()
        return "late"

    async def streaming(self, text: str):
        yield "in time"
        await self.wait()
        self.ended.set()
        yield "late"


def runtime_with(target, limits):
    return runtime_of(as_executor(target, ServerOptions(limits=limits)), limits=limits)


@pytest.mark.parametrize("kind", ["whole", "streaming"])
async def test_a_task_fails_in_time_although_its_code_swallows_cancellation(kind, caplog):
    deaf = Deaf()
    runtime = runtime_with(getattr(deaf, kind), Limits(run_seconds=0.1))
    task = await runtime.on_message_send(user_message("go"), CALLER)
    assert not deaf.ended.is_set()
    assert task.status.state == TaskState.TASK_STATE_FAILED
    assert "stopped after 0.1 s" in task.status.message.parts[0].text
    assert f"task {task.id} was stopped, but its agent still runs" in caplog.text
    assert outliving_calls() == 1
    deaf.release.set()
    await deaf.ended.wait()
    await runtime.aclose()
    assert outliving_calls() == 0
    after = await runtime.on_get_task(GetTaskRequest(id=task.id), CALLER)
    assert [part.text for a in after.artifacts for part in a.parts] == (
        ["in time"] if kind == "streaming" else []
    )


class Remembering(Adapter):
    """Answers with the conversation's history; ignores cancellation of the message "wait"."""

    uses_history = True

    def __init__(self):
        self.deaf = Deaf()
        self.holds = asyncio.Event()
        self.flags = []

    def describe(self):
        return AgentDescription(name="remembering", description="Remembers.")

    async def stream(self, request):
        self.flags.append(request.cancelled)
        if request.text == "wait":
            self.holds.set()
            await self.deaf.wait()
            self.deaf.ended.set()
        yield TextDelta(" ".join(turn.text for turn in request.history if turn.role == "user"))


@pytest.fixture
def adapter():
    adapter = Remembering()
    yield adapter
    adapter.deaf.release.set()


@pytest.mark.parametrize("is_cancelled", [True, False])
async def test_a_conversation_continues_after_an_abandoned_run(adapter, is_cancelled):
    runtime = runtime_with(adapter, Limits(run_seconds=20 if is_cancelled else 2))

    async def say(text, context_id="c"):
        return await runtime.on_message_send(user_message(text, context_id=context_id), CALLER)

    assert answer_of(await say("one")) == ""
    waiting = asyncio.create_task(say("wait"))
    await adapter.holds.wait()
    if is_cancelled:
        live = await runtime.on_list_tasks(ListTasksRequest(), CALLER)
        await runtime.on_cancel_task(CancelTaskRequest(id=live.tasks[0].id), CALLER)
    else:
        await waiting
    assert [answer_of(await say("two")), answer_of(await say("else", "d"))] == ["one", ""]
    assert not adapter.deaf.ended.is_set()
    assert [flag.left_behind for flag in adapter.flags] == [False, True, False, False]
    adapter.deaf.release.set()
    await adapter.deaf.ended.wait()
    await waiting
    assert answer_of(await say("three")) == "one two"
    await runtime.aclose()


async def test_work_that_fails_on_cancellation_is_not_repeated():
    begun = asyncio.Event()

    async def work():
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError as error:
            raise StorageUnavailableError from error

    upkeep = Upkeep()
    upkeep.every(3_600, "work", work)
    await begun.wait()
    [doing] = asyncio.all_tasks() - {asyncio.current_task()}
    upkeep.close()
    await asyncio.wait({doing})
