"""The live tasks of a runtime."""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from a2a.server.cluster.task_store import ConcurrentTaskModificationError
from a2a.server.context import ServerCallContext
from a2a.types import Task
from a2a.utils.errors import TaskNotFoundError

from a2a_adapters.concurrency import Background, shielded
from a2a_adapters.executor.writer import AnswersTooLargeError
from a2a_adapters.observability.requests import CURRENT_REQUEST
from a2a_adapters.protocol import states
from a2a_adapters.protocol.errors import ConversationElsewhereError
from a2a_adapters.protocol.generation import set_drafted
from a2a_adapters.protocol.messages import new_uuid, status
from a2a_adapters.protocol.owner import Owner
from a2a_adapters.runtime.live import Draft, LiveTask
from a2a_adapters.runtime.waiting import WaitingTasks
from a2a_adapters.storage.quota import Quota

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from a2a.server.cluster.task_store import StoredTask
    from a2a.types import Message

    from a2a_adapters.contract.limits import Limits
    from a2a_adapters.runtime.subscriber import RecentUpdates, Subscriber
    from a2a_adapters.storage.journal import Journal

_PAUSES = (0.1, 1.0, 5.0, 30.0)
"""Seconds between attempts to save the last state of a task."""

_SAVE_SECONDS = 4.0
"""Maximum time that a listing waits for unsaved tasks."""

_TOO_LARGE = (
    "The answer is too large: this agent has {} bytes of memory for all answers that are being "
    "written. Large results belong into files, of which an answer holds the URL."
)

_LEFT_BEHIND = "The server was stopped while it worked on this task; please start a new one."

logger = logging.getLogger(__name__)


def _is_unowned(live: LiveTask) -> bool:
    return live.task is not None and live.page.is_unowned(live.task)


class LiveTasks:
    """Holds a task while it runs, waits for its caller or has subscribers.

    Every other task is in the store only, and is loaded on demand.

    Args:
        give_up: Ends a task that has waited too long for its caller.
        on_end: Called when a task has ended.
        attach: Restores the push receivers of a loaded task.
        recent: Makes the buffer for the latest updates of a task; None if changes of tasks are not
            counted.
    """

    def __init__(
        self,
        journal: Journal,
        limits: Limits,
        give_up: Callable[[LiveTask], Awaitable[None]],
        on_end: Callable[[LiveTask], None],
        attach: Callable[[LiveTask], Awaitable[None]] | None = None,
        recent: Callable[[], RecentUpdates] | None = None,
    ) -> None:
        self.journal = journal
        self._limits = limits
        self._give_up = give_up
        self._started_at = time.time()
        self._on_end = on_end
        self._attach = attach
        self._recent = recent
        self.memory = Quota(limits.running_bytes)
        """The memory of messages being answered and of waiting tasks."""
        self._by_id: dict[str, LiveTask] = {}
        self.waiting = WaitingTasks(limits, self.memory, self._expire)
        self._background = Background()
        self._loading: dict[tuple[str, str], asyncio.Task[LiveTask | None]] = {}

    def begin(self, message: Message, context: ServerCallContext) -> LiveTask:
        """Return the task that a message begins, held until `let_go`.

        The ids of the task, and of a new context, are filled in.
        """
        page = self.journal.page(context)
        task_id = message.task_id = new_uuid()
        joins = bool(message.context_id)
        if not joins:
            message.context_id = new_uuid()
        context_id = message.context_id
        draft = Task(
            id=task_id, context_id=context_id, status=status(states.SUBMITTED), history=[message]
        )
        recent = self._recent() if self._recent else None
        if recent is not None:
            set_drafted(draft, 1)
        live = LiveTask(
            task_id, context_id, context.user.user_name, page, self._on_end, self.grow, None, recent
        )
        live.draft = Draft(draft, joins)
        if (record := CURRENT_REQUEST.get()) is not None:
            record.note_task(task_id, context_id, live.owner)
        self._by_id[live.task_id] = live
        live.holders = 1
        return live

    def known(self, task_id: str) -> LiveTask | None:
        """Return a task that lives here and was not lost to another process."""
        live = self._by_id.get(task_id)
        return None if live is None or live.page.is_lost else live

    def forget(self, live: LiveTask) -> None:
        """Drop a task that another process has changed."""
        live.close_subscribers()
        if self._by_id.get(live.task_id) is live:
            self.waiting.remove(live)
            del self._by_id[live.task_id]

    async def find(self, task_id: str, context: ServerCallContext) -> LiveTask:
        """Return the caller's task; `hold` keeps it alive.

        Raises:
            TaskNotFoundError: The caller has no such task.
            StorageUnavailableError: Its state cannot be read, or stored, in time.
        """
        live = self.known(task_id) or await self._loaded(task_id, context)
        if live is None or live.task is None or live.owner != context.user.user_name:
            raise TaskNotFoundError(f"Task {task_id} not found")
        if (record := CURRENT_REQUEST.get()) is not None:
            record.note_task(live.task_id, live.context_id, live.owner)
        if live.page.is_saving and live.state in states.SETTLED:
            await live.page.written()
            if live.page.is_lost:
                return await self.find(task_id, context)
        return live

    async def _loaded(self, task_id: str, context: ServerCallContext) -> LiveTask | None:
        """Return a stored task; concurrent callers get the same object."""
        key = (context.user.user_name, task_id)
        loading = self._loading.get(key)
        if loading is None:
            loading = self._loading[key] = asyncio.ensure_future(self._load(task_id, context))
            loading.add_done_callback(lambda _: self._loading.pop(key))
        loaded = await shielded(loading)
        return self.known(task_id) or loaded

    async def _load(self, task_id: str, context: ServerCallContext) -> LiveTask | None:
        stored = await self.journal.load(task_id, context)
        if stored is None:
            return None
        if self._is_orphaned(stored.task):
            try:
                return await self._end_orphan(await self._revived(stored, context))
            except Exception:  # another process may have written it meanwhile
                logger.warning("task %s could not be ended", task_id, exc_info=True)
                stored = await self.journal.load(task_id, context) or stored
        return await self._revived(stored, context)

    async def _revived(self, stored: StoredTask, context: ServerCallContext) -> LiveTask:
        page = self.journal.page(context, stored)
        task = stored.task
        recent = self._recent() if self._recent else None
        live = LiveTask(
            task.id,
            task.context_id,
            context.user.user_name,
            page,
            self._on_end,
            self.grow,
            task,
            recent,
        )
        if self._attach and not live.is_terminal:
            await self._attach(live)
        return live

    async def adopt(self, owner: str, stored: StoredTask) -> LiveTask:
        """Return a stored task of another process as a live one, held until `release`."""
        live = await self._revived(stored, ServerCallContext(user=Owner(owner)))
        self._by_id[live.task_id] = live
        return live

    async def end_late(self, owner: str, stored: StoredTask) -> None:
        """End a stored task that has waited too long for its caller, unless it lives here."""
        if stored.task.id in self._by_id:
            return
        live = await self.adopt(owner, stored)
        try:
            await self._give_up(live)
        except ConcurrentTaskModificationError:  # another process did, or it was answered
            pass
        finally:
            self.release(live)

    async def save_dirty(self, owner: str) -> None:
        """Save an owner's changed tasks; failures are logged."""
        dirty = [live for live in self.of(owner) if live.page.is_dirty]
        if dirty:
            saves = [asyncio.ensure_future(live.save()) for live in dirty]
            done, _ = await asyncio.wait(saves, timeout=_SAVE_SECONDS)
            for save in done:
                if not save.cancelled() and (error := save.exception()) is not None:
                    logger.warning("a task could not be saved: %s", type(error).__name__)

    def _is_orphaned(self, task: Task) -> bool:
        """Return whether a stored task was running, or has waited too long, in an earlier process.

        Tasks that run here are alive, and so never loaded.
        """
        if task.status.state in states.TERMINAL:
            return False
        changed_at = task.status.timestamp.ToMicroseconds() / 1e6
        if task.status.state in states.INTERRUPTED:
            return changed_at + self._limits.input_seconds < time.time()
        return not self.journal.knows_owners and changed_at < self._started_at

    def is_begun_elsewhere(self, live: LiveTask) -> bool:
        """Return whether another process works on a task."""
        has_begun = live.state in states.ACTIVE and not live.runs
        return has_begun and self.journal.knows_owners

    def check_ours(self, live: LiveTask) -> None:
        """Refuse to work on a task of another process, or an orphaned one.

        Raises:
            ConversationElsewhereError: It was begun elsewhere.
        """
        if self.is_begun_elsewhere(live):
            self.forget(live)  # the next request reads it again
            raise ConversationElsewhereError

    async def _end_orphan(self, live: LiveTask) -> LiveTask:
        if live.state in states.INTERRUPTED:
            await self._give_up(live)
        else:
            await live.set_state(states.FAILED, _LEFT_BEHIND)
        return live

    async def end_orphaned(self, tasks: Iterable[Task], context: ServerCallContext) -> bool:
        """End the caller's orphaned tasks; return whether there were any."""
        found = [t.id for t in tasks if t.id not in self._by_id and self._is_orphaned(t)]
        for task_id in found:
            await self.find(task_id, context)
        return bool(found)

    def watch(self, live: LiveTask) -> None:
        """Keep a task alive for a reader while it may still change."""
        self._by_id[live.task_id] = live
        self.release(live)

    def hold(self, live: LiveTask) -> None:
        """Keep a task alive until `let_go`; it no longer waits for its caller."""
        self._by_id[live.task_id] = live
        self.waiting.remove(live)
        live.holders += 1

    def let_go(self, live: LiveTask) -> None:
        """Undo `hold`."""
        live.holders -= 1
        self.release(live)

    def leave(self, live: LiveTask, subscriber: Subscriber) -> None:
        """Remove a reader, and with the last one perhaps the task."""
        live.unsubscribe(subscriber)
        self.release(live)

    def release(self, live: LiveTask) -> None:
        """Drop a task once it neither runs nor waits for its caller."""
        if live.runs or live.holders:
            return
        if live.page.is_lost:
            self.forget(live)
            return
        if live.state in states.INTERRUPTED and not _is_unowned(live):
            self.waiting.add(live)
            return
        if not live.is_terminal:  # otherwise its end has closed them
            live.close_subscribers()
        if live.is_terminal and live.page.is_dirty:
            self._background.begin(self._save_again(live))
        else:
            self._drop(live)

    def _drop(self, live: LiveTask) -> None:
        """Drop a task, unless another object has replaced it."""
        if self._by_id.get(live.task_id) is live:
            del self._by_id[live.task_id]

    async def _save_again(self, live: LiveTask) -> None:
        """Retry saving the last state of a task; until then it stays in memory."""
        for pause in _PAUSES:
            await asyncio.sleep(pause)
            try:
                await live.save()
            except Exception:
                logger.warning("task %s could not be saved again", live.task_id, exc_info=True)
            else:
                self._drop(live)
                return
        logger.error("task %s was never saved in its last state", live.task_id)
        self._drop(live)

    def of(self, owner: str) -> list[LiveTask]:
        """Return the live tasks of one owner."""
        return [live for live in self._by_id.values() if live.owner == owner]

    @property
    def owned(self) -> int:
        """Number of tasks that run, or wait for their callers, in this process."""
        return sum(bool(live.runs) for live in self._by_id.values()) + len(self.waiting)

    def all(self) -> list[LiveTask]:
        """Return every live task."""
        return list(self._by_id.values())

    def close(self) -> None:
        """Drop everything; subscribers keep the updates they have."""
        for live in self._by_id.values():
            live.close_subscribers()
        self.waiting.close()
        self._background.cancel()
        self._by_id.clear()

    def grow(self, live: LiveTask, size: int) -> None:
        """Reserve memory for more of an answer, until its run has ended.

        Raises:
            AnswersTooLargeError: No memory is left.
        """
        if not self.memory.try_take(live.owner, size):
            self.waiting.end_oldest(live.owner)
            grown, limit = live.grown + size, self._limits.running_bytes
            raise AnswersTooLargeError(
                _TOO_LARGE.format(limit),
                f"no room for the {grown} bytes of memory of its answer beside the others; "
                f"Limits.running_bytes is {limit}; large results belong into files",
            )
        live.grown += size

    def _expire(self, live: LiveTask) -> None:
        self._background.begin(self._end_waiting(live))

    async def _end_waiting(self, live: LiveTask) -> None:
        self.waiting.remove(live)
        with suppress(ConcurrentTaskModificationError):  # another process has it
            await self._give_up(live)
        self.release(live)
