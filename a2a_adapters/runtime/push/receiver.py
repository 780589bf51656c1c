"""One receiver of a task's notifications."""

from __future__ import annotations

import logging
from collections import deque
from typing import TYPE_CHECKING

from a2a.compat.v0_3.conversions import to_compat_task
from a2a.types import Message, Task, TaskArtifactUpdateEvent

from a2a_adapters.concurrency import in_background
from a2a_adapters.protocol.wire import model_to_json
from a2a_adapters.runtime.push.outbox import Outcome
from a2a_adapters.runtime.updates import TextUpdate, take_next
from a2a_adapters.storage.interface import Undelivered

if TYPE_CHECKING:
    import asyncio

    from a2a_adapters.runtime.live import LiveTask
    from a2a_adapters.runtime.push.ledger import Ledger
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
        ledger: Remembers what is still to be sent.
        limit: How many updates may wait.
        knows_task: Whether it is there from the task's beginning.
    """

    def __init__(
        self, target: Target, outbox: Outbox, ledger: Ledger, limit: int, *, knows_task: bool
    ) -> None:
        self.target = target
        self._host = target.host
        self._outbox = outbox
        self._ledger = ledger
        self._limit = limit
        self._knows_task = knows_task
        self._live: LiveTask | None = None
        self.owed_version = 0
        """The latest stored version of the task that is still to be sent, 0 if there is none."""
        self._waiting: deque[AnyUpdate] = deque()
        self._worker: asyncio.Task[None] | None = None
        self.is_closed = False
        """Whether nothing is sent any more."""

    def push(self, update: AnyUpdate, live: LiveTask) -> None:
        """Send an update of `live` when its turn comes."""
        if self.is_closed and update.version:
            in_background(self._ledger.settle(self._owed(live, update.version)))
        if self.is_closed or update.is_progress:
            return
        if self.target.is_v03 and not _is_state(update):
            return
        self._live = live
        self.owed_version = max(self.owed_version, update.version)
        if len(self._waiting) >= self._limit:
            self._waiting.clear()
            self._knows_task = False
        if self.target.is_v03 or not self._knows_task:
            update = live.snapshot() or update
            self._knows_task = True
        self._waiting.append(update)
        if self._worker is None:
            self._worker = self._outbox.start(self._host, self._work())
            if self._worker is None:
                logger.warning("task %s: too much to send to notify %s", live.task_id, self._host)
                self._miss()
                self._put_off(live)

    def tell(self, live: LiveTask, owed_version: int = 0) -> None:
        """Send the whole task as it is now, which was owed since that version."""
        self.owed_version = max(self.owed_version, owed_version)
        if (whole := live.snapshot()) is not None:
            self.push(whole, live)

    def close(self) -> bool:
        """Send nothing any more; tell whether something was on its way."""
        self.is_closed = True
        self._waiting.clear()
        return self._worker is not None and self._worker.cancel()

    async def _work(self) -> None:
        try:
            while self._waiting:
                body = self._body(take_next(self._waiting))
                outcome = await self._outbox.deliver(self.target, body)
                if outcome is Outcome.REFUSED:
                    self.is_closed = True
                    self._waiting.clear()
                elif outcome is Outcome.GIVEN_UP:
                    self._catch_up()
                if self.owed_version and not self._waiting:
                    await self._settle()
        finally:
            self._worker = None
            if self._waiting:
                self._miss()

    def _catch_up(self) -> None:
        has_more = bool(self._waiting)
        self._miss()
        if has_more and self._live is not None and (whole := self._live.snapshot()) is not None:
            self._waiting.append(whole)
            self._knows_task = True

    async def _settle(self) -> None:
        """Have everything forgotten that was sent, or given up, up to now."""
        assert self._live is not None  # noqa: S101 - whose version it is
        item = self._owed(self._live, self.owed_version)
        await self._ledger.settle(item)
        if self.owed_version == item.version:
            self.owed_version = 0

    def _put_off(self, live: LiveTask) -> None:
        if self.owed_version:
            self._ledger.put_off([self._owed(live, self.owed_version)])

    def _owed(self, live: LiveTask, version: int) -> Undelivered:
        return Undelivered(live.owner, live.task_id, self.target.config.id, version)

    def _miss(self) -> None:
        self._waiting.clear()
        self._knows_task = False

    def _body(self, update: AnyUpdate) -> bytes:
        if self.target.is_v03:
            assert isinstance(update.event, Task)  # noqa: S101 - only those are taken
            return model_to_json(to_compat_task(update.event))
        return update.json()


def _is_state(update: AnyUpdate) -> bool:
    return not isinstance(update, TextUpdate) and not isinstance(
        update.event, TaskArtifactUpdateEvent | Message
    )
