"""Agents that answer at once."""

from __future__ import annotations

from collections.abc import Callable

from a2a.helpers import new_data_part, new_text_message
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.tasks import TaskUpdater
from a2a.types import Artifact, Message, Part, Task, TaskState, TaskStatus
from starlette.types import ASGIApp

from tests.support.servers.sdk import pieces, pong, scripted, sdk_app, text

RECORD = {"city": "Paris", "degrees": 21.5, "days": [1, 2]}
ROWS = [{"id": 1}, {"id": 2}]
IMAGE = bytes(range(256))
REPORT_URL = "https://files.example/report.pdf"


def message_only() -> ASGIApp:
    """Answers with a Message without a task, like a2a-sdk's helloworld sample."""
    return sdk_app(_OneEvent(_message))


def final_task() -> ASGIApp:
    """Answers with a completed Task that holds an artifact; it cannot stream."""
    return sdk_app(_OneEvent(_completed), streaming=False)


def final_task_in_stream() -> ASGIApp:
    """Declares streaming; the stream has only the completed Task."""
    return sdk_app(_OneEvent(_completed))


@scripted
async def status_only(context: RequestContext, task: TaskUpdater) -> None:
    """Has its text in the message of the completed status; there is no artifact."""
    await task.start_work()
    await task.complete(task.new_agent_message(text(pong(context))))


@scripted
async def artifact_and_status(context: RequestContext, task: TaskUpdater) -> None:
    """Sends the same text in an artifact and in the completed status."""
    await task.start_work()
    await task.add_artifact(text(pong(context)))
    await task.complete(task.new_agent_message(text(pong(context))))


@scripted
async def progress(context: RequestContext, task: TaskUpdater) -> None:
    """Reports progress in two working statuses, which are not part of the answer."""
    await task.start_work(task.new_agent_message(text("thinking…")))
    await task.start_work(task.new_agent_message(text("writing…")))
    await task.add_artifact(text(pong(context)))
    await task.complete()


@scripted
async def progress_then_status(context: RequestContext, task: TaskUpdater) -> None:
    """Reports progress in a working status, and the answer in the completed one."""
    await task.start_work(task.new_agent_message(text("thinking…")))
    await task.complete(task.new_agent_message(text(pong(context))))


class _OneEvent(AgentExecutor):
    """Answers with the event built by `reply`."""

    def __init__(self, reply: Callable[[RequestContext], Task | Message]) -> None:
        self._reply = reply

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        await event_queue.enqueue_event(self._reply(context))

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


def _message(context: RequestContext) -> Message:
    return new_text_message(pong(context), context_id=context.context_id)


def _completed(context: RequestContext) -> Task:
    return Task(
        id=context.task_id,
        context_id=context.context_id,
        status=TaskStatus(state=TaskState.TASK_STATE_COMPLETED),
        artifacts=[Artifact(artifact_id="answer", parts=text(pong(context)))],
        history=[context.message],
    )


@scripted
async def several_parts(context: RequestContext, task: TaskUpdater) -> None:
    """Has an artifact whose text is split into several parts without separators."""
    await task.start_work()
    await task.add_artifact(text(*pieces(pong(context))))
    await task.complete()


@scripted
async def mixed_parts(context: RequestContext, task: TaskUpdater) -> None:
    """Has three artifacts: text beside `RECORD`; `IMAGE` and `REPORT_URL`; `ROWS` alone."""
    await task.start_work()
    await task.add_artifact([*text(pong(context)), new_data_part(RECORD)], name="answer")
    await task.add_artifact(
        [
            Part(raw=IMAGE, media_type="image/png", filename="map.png"),
            Part(url=REPORT_URL, media_type="application/pdf", filename="report.pdf"),
        ],
        name="files",
    )
    await task.add_artifact([new_data_part(ROWS)], name="rows")
    await task.complete()
