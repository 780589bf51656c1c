"""One receiver of a task's notifications."""

from __future__ import annotations

import logging
from collections import deque
from typing import TYPE_CHECKING

from a2a.compat.v0_3.conversions import to_compat_task
from a2a.types import Message, Task, TaskArtifactUpdateEvent

from a2a_adapters.runtime.push.outbox import Outcome
from a2a_adapters.runtime.updates import TextUpdate, take_next

if TYPE_CHECKING:
    import asyncio

    from a2a_adapters.runtime.live import LiveTask
    from a2a_adapters.runtime.push.outbox import Outbox
    from a2a_adapters.runtime.push.target import Target
    from a2a_adapters.runtime.updates import AnyUpdate


logger = logging.getLogger(__name__)


class Receiver:
    """Hands a task's updates to the outbox, in order and one at a time.

    Chunks of text that come while one is under way go together in the next. What a receiver has
    missed, because it fell behind or did not answer, is made up by the whole task. Receivers
    that came over A2A 0.3 get the whole task at every change of its state, as 0.3 has it.

    Args:
        target: Where they are sent.
        outbox: What sends them.
        limit: How many updates may wait.
        knows_task: Whether it is there from the task's beginning.
    """

    def __init__(self, target: Target, outbox: Outbox, limit: int, *, knows_task: bool) -> None:
        self.target = target
        self._host = target.host
        self._outbox = outbox
        self._limit = limit
        self._knows_task = knows_task
        self._waiting: deque[AnyUpdate] = deque()
        self._worker: asyncio.Task[None] | None = None
        self._is_closed = False

    def push(self, update: AnyUpdate, live: LiveTask) -> None:
        """Send an update of `live` when its turn comes."""
        if self._is_closed or update.is_progress:
            return
        if self.target.is_v03 and not _is_state(update):
            return
        if len(self._waiting) >= self._limit:
            self._waiting.clear()
            self._knows_task = False
        if self.target.is_v03 or not self._knows_task:
            update = live.snapshot() or update
            self._knows_task = True
        self._waiting.append(update)
        if self._worker is None:
            self._worker = self._outbox.start(self._host, self._work(live))
            if self._worker is None:
                logger.warning("task %s: too much to send to notify %s", live.task_id, self._host)
                self._miss()

    def tell(self, live: LiveTask) -> None:
        """Send the whole task as it is now."""
        if (whole := live.snapshot()) is not None:
            self.push(whole, live)

    def close(self) -> bool:
        """Send nothing any more; tell whether something was on its way."""
        self._is_closed = True
        self._waiting.clear()
        return self._worker is not None and self._worker.cancel()

    async def _work(self, live: LiveTask) -> None:
        try:
            while self._waiting:
                body = self._body(take_next(self._waiting))
                outcome = await self._outbox.deliver(self.target, body)
                if outcome is Outcome.REFUSED:
                    self._is_closed = True
                    self._waiting.clear()
                elif outcome is Outcome.GIVEN_UP:
                    self._catch_up(live)
        finally:
            self._worker = None
            if self._waiting:
                self._miss()

    def _catch_up(self, live: LiveTask) -> None:
        has_more = bool(self._waiting)
        self._miss()
        if has_more and (whole := live.snapshot()) is not None:
            self._waiting.append(whole)
            self._knows_task = True

    def _miss(self) -> None:
        self._waiting.clear()
        self._knows_task = False

    def _body(self, update: AnyUpdate) -> bytes:
        if self.target.is_v03:
            assert isinstance(update.event, Task)  # noqa: S101 - only those are taken
            task = to_compat_task(update.event)
            return task.model_dump_json(by_alias=True, exclude_none=True).encode()
        return update.json()


def _is_state(update: AnyUpdate) -> bool:
    return not isinstance(update, TextUpdate) and not isinstance(
        update.event, TaskArtifactUpdateEvent | Message
    )
