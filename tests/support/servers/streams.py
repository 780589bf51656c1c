"""Agents that stream their answers in different ways."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from itertools import accumulate
from typing import Any

from a2a.server.agent_execution import RequestContext
from a2a.server.context import ServerCallContext
from a2a.server.events import Event
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.tasks import TaskUpdater
from a2a.types import GetTaskRequest, SendMessageRequest
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp

from tests.support.servers.sdk import Scripted, pieces, pong, scripted, sdk_app, text
from tests.support.servers.wire import (
    COMPLETED,
    WORKING,
    Call,
    TaskEvents,
    answering,
    message,
    sse,
)

ANSWER = "answer"
"""The id of the artifact."""


def chunks() -> ASGIApp:
    """Appends chunks to one artifact and marks the last one. The task keeps a part per chunk."""

    return sdk_app(chunking())


@scripted
async def chunks_left_open(context: RequestContext, task: TaskUpdater) -> None:
    """Appends chunks to one artifact without marking the last one."""
    await task.start_work()
    await _append(task, pong(context), close=False)
    await task.complete()


def chunks_then_whole() -> ASGIApp:
    """Appends chunks, replaces them with the whole text, completes, and ends with the Task."""

    async def script(context: RequestContext, task: TaskUpdater) -> None:
        await task.start_work()
        await _append(task, pong(context), close=False)
        await task.add_artifact(text(pong(context)), ANSWER, append=False, last_chunk=True)
        await task.complete()

    return sdk_app(Scripted(script), handler_type=_EndsWithTask)


@scripted
async def snapshots(context: RequestContext, task: TaskUpdater) -> None:
    """Replaces its artifact with each update by the whole text so far."""
    await task.start_work()
    for so_far in accumulate(pieces(pong(context))):
        await task.add_artifact(text(so_far), ANSWER, append=False)
    await task.complete()


@scripted
async def status_deltas(context: RequestContext, task: TaskUpdater) -> None:
    """Streams its text as working statuses, one piece each; the completed one is empty.

    Without streaming, the pieces are only in the task's history.
    """
    for piece in pieces(pong(context)):
        await task.start_work(task.new_agent_message(text(piece)))
    await task.complete()


@scripted
async def status_deltas_then_whole(context: RequestContext, task: TaskUpdater) -> None:
    """Streams its text as working statuses, one piece each; the completed one has it whole."""
    for piece in pieces(pong(context)):
        await task.start_work(task.new_agent_message(text(piece)))
    await task.complete(task.new_agent_message(text(pong(context))))


@scripted
async def status_snapshots(context: RequestContext, task: TaskUpdater) -> None:
    """Streams working statuses that each hold the whole text so far; so does the completed one."""
    for so_far in accumulate(pieces(pong(context))):
        await task.start_work(task.new_agent_message(text(so_far)))
    await task.complete(task.new_agent_message(text(pong(context))))


@scripted
async def status_whole(context: RequestContext, task: TaskUpdater) -> None:
    """Sends everything in one working status; the completed one is empty.

    Like Microsoft's agent framework; without streaming, the text is only in the history.
    """
    await task.start_work(task.new_agent_message(text(pong(context))))
    await task.complete()


def chunking() -> Scripted:
    """Return the agent of `chunks`, for other servers."""

    async def script(context: RequestContext, task: TaskUpdater) -> None:
        await task.start_work()
        await _append(task, pong(context), close=True)
        await task.complete()

    return Scripted(script)


async def _append(task: TaskUpdater, answer: str, *, close: bool) -> None:
    cut = pieces(answer)
    for index, piece in enumerate(cut):
        last = close and index == len(cut) - 1
        await task.add_artifact(text(piece), ANSWER, append=index > 0, last_chunk=last)


class _EndsWithTask(DefaultRequestHandler):
    """Sends the whole task at the end of a stream."""

    async def on_message_send_stream(
        self, params: SendMessageRequest, context: ServerCallContext
    ) -> AsyncGenerator[Event]:
        async for event in super().on_message_send_stream(params, context):
            yield event
        yield await self.on_get_task(GetTaskRequest(id=params.message.task_id), context)


@answering
async def chunks_without_task(call: Call) -> Response:
    """Streams chunks with `append` from the first one on, without the Task."""
    event = TaskEvents.answering(call)
    cut = pieces(f"pong: {call.text}")

    async def events() -> AsyncIterator[dict[str, Any]]:
        yield call.result(event.status(WORKING))
        for piece in cut:
            yield call.result(event.chunk(piece))
        yield call.result(event.status(COMPLETED))

    return sse(events()) if call.streams else JSONResponse(call.result(event.task(COMPLETED, *cut)))


@answering
async def task_then_message(call: Call) -> Response:
    """Announces a task in its stream and finally answers with a Message."""
    event = TaskEvents.answering(call)
    reply = message(f"pong: {call.text}")

    async def events() -> AsyncIterator[dict[str, Any]]:
        yield call.result(event.task(WORKING))
        yield call.result(event.status(WORKING, "thinking…"))
        yield call.result(reply)

    return sse(events()) if call.streams else JSONResponse(call.result(reply))
