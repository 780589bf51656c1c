"""Uses of a task's generation (A2A 1.1 as drafted): long polls and resumed streams."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from a2a_adapters.protocol.errors import ReaderBehindError
from a2a_adapters.protocol.generation import drafted
from a2a_adapters.protocol.headers import V11, VERSION_STATE

if TYPE_CHECKING:
    from collections.abc import Callable

    from a2a.server.context import ServerCallContext
    from a2a.types import GetTaskRequest

    from a2a_adapters.runtime.live import LiveTask
    from a2a_adapters.runtime.registry import LiveTasks
    from a2a_adapters.runtime.subscriber import Subscriber

HOLD_SECONDS = 25.0
"""Maximum time that a long poll is held. Load balancers give a server 30 seconds or more."""

PAUSE_SECONDS = 0.5
"""Interval for reading a task that changes in no particular process."""


def resume(live: LiveTask, subscriber: Subscriber, context: ServerCallContext) -> bool:
    """Send a reader of A2A 1.1 the events that it has missed since `Last-Event-ID`.

    Returns:
        Whether these were all missed events; otherwise nothing was sent.
    """
    if live.recent is None or context.state.get(VERSION_STATE) != V11:
        return False
    last = context.state["headers"].get("last-event-id", "")
    if not (last.isascii() and last.isdecimal() and len(last) < 20):
        return False
    missed = live.recent.since(int(last), live.generation)
    if missed is None:
        return False
    subscriber.has_begun = True
    for update in missed:
        subscriber.push(update)
    return True


class LongPolls:
    """Holds requests for a task until it changes (`currentGeneration`).

    Args:
        tasks: The live tasks.
        reader: Returns the queue of a caller.
        is_stopping: Returns whether shutdown has begun; then no request is held.
    """

    def __init__(
        self,
        tasks: LiveTasks,
        reader: Callable[[ServerCallContext], Subscriber],
        is_stopping: Callable[[], bool],
    ) -> None:
        self._tasks = tasks
        self._reader = reader
        self._is_stopping = is_stopping

    async def find(self, params: GetTaskRequest, context: ServerCallContext) -> LiveTask:
        """Return the caller's task once it has changed, is terminal, or the time is up.

        Raises:
            TaskNotFoundError: The caller has no such task.
            StorageUnavailableError: Its state cannot be read, or stored, in time.
        """
        now = asyncio.get_running_loop().time
        known, deadline = drafted(params), now() + HOLD_SECONDS
        while True:
            live = await self._tasks.find(params.id, context)
            has_changed = known is None or live.generation > known or live.is_terminal
            left = deadline - now()
            if has_changed or left <= 0 or self._is_stopping():
                return live
            await self._changed(live, context, left)

    async def _changed(self, live: LiveTask, context: ServerCallContext, seconds: float) -> None:
        """Wait for the next update of a task, for a limited time."""
        subscriber = self._reader(context)
        subscriber.has_begun = True  # it does not need the whole task
        live.subscribers.append(subscriber)
        self._tasks.watch(live)
        try:
            with suppress(TimeoutError, ReaderBehindError):
                async with asyncio.timeout(seconds):
                    if not await subscriber.take() and not self._is_stopping():
                        await asyncio.sleep(PAUSE_SECONDS)  # it can go on in any process
        finally:
            subscriber.leave()
            self._tasks.leave(live, subscriber)
