"""Answers duplicates of a message like its first arrival."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from a2a.types import Message
from a2a.utils.errors import TaskNotFoundError

from a2a_adapters.protocol import states
from a2a_adapters.protocol.errors import ConversationElsewhereError, StorageUnavailableError
from a2a_adapters.runtime.subscriber import Subscription
from a2a_adapters.runtime.updates import Update

if TYPE_CHECKING:
    from a2a.server.context import ServerCallContext
    from a2a.types import Task

    from a2a_adapters.observability.figures import Figures
    from a2a_adapters.runtime.live import LiveTask
    from a2a_adapters.runtime.registry import LiveTasks
    from a2a_adapters.runtime.run import Duplicate
    from a2a_adapters.runtime.subscriber import Subscriber
    from a2a_adapters.storage.interface import AgentStorage


_PAUSE_SECONDS = 0.5

_GONE = (
    "This message has come before, and nothing is left of its answer; if it is to be answered "
    "again, send it under a new messageId"
)


class Duplicates:
    """Answers messages that have begun a task or a reply before."""

    def __init__(self, tasks: LiveTasks, storage: AgentStorage, figures: Figures) -> None:
        self._live = tasks
        self._storage = storage
        self._figures = figures

    async def answer(
        self, first: Duplicate, context: ServerCallContext, *, until_begun: bool
    ) -> Task | Message:
        """Return what the first arrival returned, or wait for it."""
        if first.run is not None:
            return await first.run.wait(until_begun=until_begun)
        live = await self._begun(first, context)
        while not _is_answered(live, until_begun=until_begun):
            # It was resumed here, or belongs to another process, which may be dead.
            pause = asyncio.create_task(asyncio.sleep(_PAUSE_SECONDS))
            await asyncio.wait({pause, *live.runs}, return_when=asyncio.FIRST_COMPLETED)
            pause.cancel()
            live = await self._begun(first, context)
        result = live.reply or live.shown
        assert result is not None  # noqa: S101 - tasks are found once announced
        return result

    async def _begun(self, first: Duplicate, context: ServerCallContext) -> LiveTask:
        """Return the task or the reply of a message whose run has ended.

        Raises:
            TaskNotFoundError: Neither was kept, or the server stopped before there was one.
        """
        reply = await self._storage.reply_to(context.user.user_name, first.name)
        if reply is None:
            try:
                return await self._live.find(first.task_id, context)
            except TaskNotFoundError as error:
                raise TaskNotFoundError(_GONE) from error
        live = self._live.begin(Message(), context)
        live.reply, live.is_terminal = Message.FromString(reply), True
        self._live.let_go(live)
        return live

    async def read(
        self, first: Duplicate, context: ServerCallContext, subscriber: Subscriber
    ) -> Subscription:
        """Return the stream of the first arrival, from now on.

        Raises:
            StorageUnavailableError: Its end cannot be stored in time, or another process has it.
            ConversationElsewhereError: Another process answers it.
        """
        live = first.run.live if first.run else await self._begun(first, context)
        if first.run and first.run.has_answered:
            await live.page.written()
            if live.page.is_lost:
                raise StorageUnavailableError
        if first.run.has_answered if first.run else _is_answered(live, until_begun=False):
            last = Update(live.reply) if live.reply else live.snapshot()
            assert last is not None  # noqa: S101 - an answered message has one of the two
            subscriber.push(last)
            subscriber.close()
            return Subscription(subscriber, self._figures)
        if first.run is None and not live.runs:
            raise ConversationElsewhereError(task_id=first.task_id)
        live.subscribers.append(subscriber)
        live.show(subscriber)
        self._live.watch(live)
        leave = partial(self._live.leave, live, subscriber)
        return Subscription(subscriber, self._figures, first.run, leave)


def _is_answered(live: LiveTask, *, until_begun: bool) -> bool:
    if until_begun and not live.is_terminal:
        return live.state != states.UNSPECIFIED  # else the task is not announced
    return live.is_terminal or live.state in states.SETTLED
