"""The live tasks of a runtime: found, begun, kept while they are needed, released."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from a2a.utils.errors import TaskNotFoundError

from a2a_adapters import states
from a2a_adapters.ids import new_uuid
from a2a_adapters.runtime.live import LiveTask

if TYPE_CHECKING:
    from a2a.server.context import ServerCallContext

    from a2a_adapters.limits import Limits
    from a2a_adapters.runtime.journal import Journal


class LiveTasks:
    """Holds a task while it runs, waits for its caller or has subscribers.

    Every other task is only in the store, and comes back when it is asked for.

    Args:
        journal: Where tasks are stored.
        limits: How long a task may wait for its caller.
        give_up: Ends a task that has waited too long.
    """

    def __init__(
        self, journal: Journal, limits: Limits, give_up: Callable[[LiveTask], Awaitable[None]]
    ) -> None:
        self._journal = journal
        self._limits = limits
        self._give_up = give_up
        self._by_id: dict[str, LiveTask] = {}
        self._expiries: dict[str, asyncio.TimerHandle] = {}
        self._expiring: set[asyncio.Task[None]] = set()

    def begin(self, context_id: str, context: ServerCallContext) -> LiveTask:
        """Make room for a new task, in the given conversation or in one of its own."""
        page = self._journal.page(context)
        live = LiveTask(new_uuid(), context_id or new_uuid(), context.user, page)
        self._by_id[live.task_id] = live
        return live

    async def find(self, task_id: str, context: ServerCallContext) -> LiveTask:
        """Return the caller's task; `hold` it to keep it alive.

        Raises:
            TaskNotFoundError: The caller has no such task.
        """
        live = self._by_id.get(task_id)
        if live is not None and live.task is not None and live.owner == context.user.user_name:
            return live
        stored = None if live else await self._journal.load(task_id, context)
        if stored is None:
            raise TaskNotFoundError(f"Task {task_id} not found")
        # Two callers may come here at once: both must get the same object.
        if task_id in self._by_id:
            return await self.find(task_id, context)
        page = self._journal.page(context, stored)
        task = stored.task
        return LiveTask(task.id, task.context_id, context.user, page, task)

    def hold(self, live: LiveTask) -> None:
        """Keep a task alive until it is released."""
        self._by_id[live.task_id] = live
        if expiry := self._expiries.pop(live.task_id, None):
            expiry.cancel()

    def release(self, live: LiveTask) -> None:
        """Let a task go once nothing runs on it, reads it or waits for its caller."""
        if live.runs:
            return
        if live.state in states.INTERRUPTED:
            self._expire_later(live)
        elif live.is_over or not live.has_subscribers:
            live.close_subscribers()
            self._by_id.pop(live.task_id, None)

    def of(self, owner: str) -> list[LiveTask]:
        """Return the live tasks of one owner."""
        return [live for live in self._by_id.values() if live.owner == owner]

    def all(self) -> list[LiveTask]:
        """Return every live task."""
        return list(self._by_id.values())

    def close(self) -> None:
        """Forget everything; subscribers finish with what they have."""
        for live in self._by_id.values():
            live.close_subscribers()
        for expiry in self._expiries.values():
            expiry.cancel()
        self._by_id.clear()
        self._expiries.clear()

    def _expire_later(self, live: LiveTask) -> None:
        if live.task_id not in self._expiries:
            loop = asyncio.get_running_loop()
            expiry = loop.call_later(self._limits.input_seconds, self._expire, live)
            self._expiries[live.task_id] = expiry

    def _expire(self, live: LiveTask) -> None:
        expiring = asyncio.ensure_future(self._end_waiting(live))
        self._expiring.add(expiring)
        expiring.add_done_callback(self._expiring.discard)

    async def _end_waiting(self, live: LiveTask) -> None:
        del self._expiries[live.task_id]
        await self._give_up(live)
        self.release(live)
