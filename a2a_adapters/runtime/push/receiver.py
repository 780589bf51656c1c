"""A receiver of a task's notifications, and the pending deliveries."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING

from a2a.compat.v0_3.conversions import to_compat_task
from a2a.server.cluster.task_store import VersionedTaskStore
from a2a.server.context import ServerCallContext
from a2a.types import Message, Task, TaskArtifactUpdateEvent

from a2a_adapters.concurrency import in_background
from a2a_adapters.protocol import states
from a2a_adapters.protocol.encoding import model_to_json
from a2a_adapters.protocol.errors import StorageUnavailableError
from a2a_adapters.protocol.owner import Owner
from a2a_adapters.runtime.push.delivery import Outcome
from a2a_adapters.runtime.updates import TextUpdate, Update, take_next
from a2a_adapters.storage.interface import Undelivered, number_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from a2a.server.cluster.task_store import StoredTask

    from a2a_adapters.runtime.live import LiveTask
    from a2a_adapters.runtime.push import PushOptions
    from a2a_adapters.runtime.push.configs import Target
    from a2a_adapters.runtime.push.delivery import Outbox
    from a2a_adapters.runtime.updates import AnyUpdate
    from a2a_adapters.storage.interface import AgentStorage


logger = logging.getLogger(__name__)


class Receiver:
    """Hands a task's updates to the outbox, in order and one at a time.

    Updates are gathered for a moment, and while one is being sent: chunks of text are joined, and
    once the task is settled the whole task replaces several updates. It is also sent to a receiver
    that fell behind or did not answer. Receivers of A2A 0.3 get the whole task at every change of
    its state. `knows_task`: whether the receiver was added when the task began.
    """

    def __init__(
        self,
        target: Target,
        outbox: Outbox,
        pending: PendingDeliveries,
        options: PushOptions,
        *,
        knows_task: bool,
    ) -> None:
        self.target = target
        self.config_ids = {target.config.id}
        """The configs of the task that cause identical requests."""
        self._outbox = outbox
        self._pending = pending
        self._options = options
        self._knows_task = knows_task
        self._is_settled = asyncio.Event()
        """Set while the task is settled."""
        self._live: LiveTask | None = None
        self.owed_version = 0
        """The latest stored version that is still to be sent; 0 if none is."""
        self._waiting: deque[AnyUpdate] = deque()
        self._body: bytes | None = None
        """The notification that is being sent."""
        self._elsewhere = 0
        """The version sent last if another process stored it; 0 if this process did."""
        self._worker: asyncio.Task[None] | None = None
        self.is_closed = False
        """Whether nothing more is sent."""

    def push(self, update: AnyUpdate, live: LiveTask) -> None:
        """Queue an update of `live` for sending."""
        if self.is_closed and update.version:
            in_background(self._settle_version(live, update.version))
        if self.is_closed or update.is_progress:
            return
        if self.target.is_v03 and not _is_state(update):
            return
        self._live = live
        self.owed_version = max(self.owed_version, update.version)
        if len(self._waiting) >= self._options.waiting_updates:
            self._miss()
        if self.target.is_v03 or not self._knows_task:
            update = live.snapshot() or update
            self._knows_task = True
        self._waiting.append(update)
        if live.is_terminal or live.state in states.SETTLED:
            self._is_settled.set()
        else:
            self._is_settled.clear()
        if self._worker is None:
            self._worker = self._outbox.start(self.target, self._work())
            if self._worker is None:
                host = self.target.url.host
                logger.warning("task %s: too much to send to notify %s", live.task_id, host)
                self._miss()
                self._pending.put_off(self._owed(live, self.owed_version))

    def send_task(self, live: LiveTask, owed_version: int = 0) -> None:
        """Send the whole current task, which is owed since that version."""
        self.owed_version = max(self.owed_version, owed_version)
        if (whole := live.snapshot()) is not None:
            self.push(whole, live)

    def leave(self, config_id: str) -> bool:
        """Send nothing more for a config; return whether a notification was being sent."""
        self.config_ids.discard(config_id)
        if self._worker is None or self.config_ids:
            self.is_closed = not self.config_ids
            return self._worker is not None
        self.is_closed = True
        self._waiting.clear()
        return self._worker.cancel()

    def has_taken(self, version: int) -> bool:
        """Return whether a version of the task (0: unstored) was or is being sent."""
        if not version:
            return self._knows_task
        return self._worker is not None and version <= self.owed_version

    async def _work(self) -> None:
        try:
            while self._waiting:
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._options.interval_seconds):
                        await self._is_settled.wait()
                began = time.monotonic()
                try:
                    outcome = await self._outbox.deliver(self.target, self._take, self._renew)
                finally:
                    self._body = None
                if outcome is Outcome.REFUSED:
                    self.is_closed = True
                    self._waiting.clear()
                elif outcome is Outcome.GIVEN_UP:
                    self._catch_up()
                if not self._waiting:
                    await self._settle(began)
        except BaseException:  # a later update makes up for it
            self._miss()
            raise
        finally:
            self._worker = None

    def _catch_up(self) -> None:
        has_more = bool(self._waiting)
        self._miss()
        if has_more and (whole := self._stored()) is not None:
            self._waiting.append(whole)
            self._knows_task = True

    async def _settle(self, began: float) -> None:
        """Mark all states up to now as delivered or given up.

        A later state that another process has sent meanwhile is sent again: it may have come first.

        Args:
            began: Start of the last notification, by `time.monotonic`.
        """
        live, version = self._live, self.owed_version
        assert live is not None  # noqa: S101 - its state was sent
        if version:
            is_last = await self._settle_version(live, version)
            if self.owed_version == version:
                self.owed_version = 0
        else:
            is_last = self._pending.is_ours(live, began)
        if not is_last and (later := await self._later(live)) is not None and not self.is_closed:
            self._waiting.append(later)

    async def _settle_version(self, live: LiveTask, version: int) -> bool:
        return all(await asyncio.gather(*map(self._pending.settle, self._owed(live, version))))

    async def _renew(self) -> None:
        """Replace the notification by the state of another process that has settled the task."""
        assert self._live is not None  # noqa: S101 - its state was sent
        if (later := await self._later(self._live)) is not None:
            self._waiting.clear()  # older
            self._body = self._encode(later)

    async def _later(self, live: LiveTask) -> Update | None:
        """Return the settled state of another process, unless it was sent here."""
        stored = await self._pending.settled_elsewhere(live)
        if stored is None or live is not self._live:  # ours, and the latest
            return None
        version = number_of(stored.version)
        if version == self._elsewhere:
            return None
        self._elsewhere = version
        return Update(stored.task, version=version)

    def _owed(self, live: LiveTask, version: int) -> list[Undelivered]:
        return [
            Undelivered(live.owner, live.task_id, config_id, version)
            for config_id in self.config_ids
        ]

    def _miss(self) -> None:
        self._waiting.clear()
        self._knows_task = False

    def _take(self) -> bytes:
        """Return the next notification; the same one until it is sent."""
        if self._body is None:
            self._body = self._encode(self._next())
        return self._body

    def _next(self) -> AnyUpdate:
        update = take_next(self._waiting)
        is_whole = isinstance(update, Update) and isinstance(update.event, Task)
        is_better = self._waiting and (is_whole or self._is_settled.is_set())
        if is_better and (whole := self._stored()) is not None:
            self._waiting.clear()
            update = whole
        if update.version != self._elsewhere:
            self._elsewhere = 0
        return update

    def _encode(self, update: AnyUpdate) -> bytes:
        if self.target.is_v03:
            assert isinstance(update.event, Task)  # noqa: S101 - `push` queues only tasks
            return model_to_json(to_compat_task(update.event))
        return update.json()

    def _stored(self) -> Update | None:
        """Return the whole task; None while its state may be unsaved."""
        live = self._live
        if live is None or live.page.is_saving or live.page.is_lost:
            return None
        return live.snapshot()


def _is_state(update: AnyUpdate) -> bool:
    return not isinstance(update, TextUpdate) and not isinstance(
        update.event, TaskArtifactUpdateEvent | Message
    )


_AT_ONCE = 1000
"""Maximum number of concurrent resumed deliveries, so that a slow host does not block others."""

_PAUSE_SECONDS = 0.5
"""Between attempts to read a task."""

_UNSTORED = 100_000
"""Some 500 bytes each."""


class PendingDeliveries:
    """Tracks pending deliveries, which the storage holds."""

    def __init__(self, storage: AgentStorage) -> None:
        self._storage = storage
        self._due: dict[tuple[str, str, str], Undelivered] = {}

    async def due(self) -> list[Undelivered]:
        """Take and return deliveries that were put off, or orphaned by dead processes.

        Raises:
            StorageUnavailableError: The storage did not answer in time.
        """
        self.put_off(await self._storage.undelivered())
        return [self._due.pop(place) for place in list(islice(self._due, _AT_ONCE))]

    def put_off(self, items: Iterable[Undelivered]) -> None:
        """Postpone deliveries.

        Those that are not stored (version 0) are kept up to a limit.
        """
        for item in items:
            if item.version or len(self._due) < _UNSTORED:
                self._due[item.owner, item.task_id, item.config_id] = item

    async def settle(self, item: Undelivered) -> bool:
        """Store that a state was delivered to a receiver or given up.

        Returns:
            Whether no other process owes the receiver a later state.
        """
        return not item.version or await self._storage.delivered(item)

    def is_ours(self, live: LiveTask, since: float) -> bool:
        """Return whether no other process can have worked on a task since a `time.monotonic`."""
        return bool(live.runs) and self._storage.is_unbroken(since)

    async def settled_elsewhere(self, live: LiveTask) -> StoredTask | None:
        """Return a task that another process has settled since it was read.

        Waits until the storage answers.
        """
        store = self._storage.tasks
        if not self._storage.is_shared or not isinstance(store, VersionedTaskStore):
            return None
        context, known = ServerCallContext(user=Owner(live.owner)), live.page.version
        while True:
            with suppress(StorageUnavailableError):
                stored = await store.get(live.task_id, context)
                break
            await asyncio.sleep(_PAUSE_SECONDS)
        if stored is None or stored.version in (known, live.page.version):
            return None
        return stored if stored.task.status.state in states.SETTLED else None
