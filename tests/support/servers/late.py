"""Agents that answer before their task is done."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from a2a.server.agent_execution import RequestContext
from a2a.server.context import ServerCallContext
from a2a.server.events import Event
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.tasks import TaskUpdater
from a2a.types import GetTaskRequest, SubscribeToTaskRequest, Task
from starlette.types import ASGIApp

from tests.support.servers.sdk import Scripted, pong, sdk_app, text


def stream_ends_working() -> ASGIApp:
    """Ends its stream (or returns the task) in `working`, and completes the task later.

    Later means after the caller has looked at it: after the first `GetTask`, or
    once a subscriber has received the task.
    """
    return sdk_app(_Late(working=True), handler_type=_Watching)


def submitted() -> ASGIApp:
    """Returns the task in `submitted` to a waiting caller, and completes it later.

    Like fasta2a, which cannot stream either: only `GetTask` returns the answer.
    """
    return sdk_app(_Late(working=False), streaming=False, handler_type=_Watching)


class _Late(Scripted):
    """Leaves its task unfinished until it is read."""

    def __init__(self, *, working: bool) -> None:
        super().__init__(self._leave)
        self._working = working
        self._unfinished: dict[str, tuple[TaskUpdater, str]] = {}

    async def _leave(self, context: RequestContext, task: TaskUpdater) -> None:
        if self._working:
            await task.start_work()
        self._unfinished[task.task_id] = (task, pong(context))

    async def look_at(self, task_id: str) -> None:
        """Finish the task, unless it is finished."""
        if task_id in self._unfinished:
            task, answer = self._unfinished.pop(task_id)
            await task.add_artifact(text(answer))
            await task.complete()


class _Watching(DefaultRequestHandler):
    """Notifies a `_Late` agent of reads of a task."""

    async def on_get_task(self, params: GetTaskRequest, context: ServerCallContext) -> Task | None:
        task = await super().on_get_task(params, context)
        await self.agent_executor.look_at(params.id)
        return task

    async def on_subscribe_to_task(
        self, params: SubscribeToTaskRequest, context: ServerCallContext
    ) -> AsyncGenerator[Event]:
        async for event in super().on_subscribe_to_task(params, context):
            yield event
            await self.agent_executor.look_at(params.id)
