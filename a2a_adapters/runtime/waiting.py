"""Tasks that wait for the answers of their callers, for a limited time."""

from __future__ import annotations

import asyncio
from contextvars import Context
from typing import TYPE_CHECKING, NamedTuple

from a2a_adapters.storage.quota import memory_size

if TYPE_CHECKING:
    from collections.abc import Callable

    from a2a_adapters.contract.limits import Limits
    from a2a_adapters.runtime.live import LiveTask
    from a2a_adapters.storage.quota import Quota


class _Waiting(NamedTuple):
    live: LiveTask
    expiry: asyncio.TimerHandle
    size: int


class WaitingTasks:
    """The waiting tasks of an agent, oldest first. They take part of its memory.

    Args:
        limits: Limits of their number and their time.
        memory: The memory of the agent's tasks.
        expire: Called with a task that has waited too long, or that others need the memory of.
    """

    def __init__(self, limits: Limits, memory: Quota, expire: Callable[[LiveTask], None]) -> None:
        self._limits = limits
        self._memory = memory
        self._expire = expire
        self._by_id: dict[str, _Waiting] = {}

    def __len__(self) -> int:
        """Return their number."""
        return len(self._by_id)

    def add(self, live: LiveTask) -> None:
        """Let a task wait; the oldest ends if there are too many."""
        if live.task_id not in self._by_id:
            loop = asyncio.get_running_loop()
            seconds = self._limits.input_seconds
            # The current context holds the request.
            expiry = loop.call_later(seconds, self._expire, live, context=Context())
            assert live.task is not None  # noqa: S101 - it waits
            size = memory_size(live.task)
            self._by_id[live.task_id] = _Waiting(live, expiry, size)
            self._memory.take(live.owner, size)
        if len(self) > self._limits.waiting_tasks or not self._memory.has(live.owner):
            self.end_oldest(live.owner)

    def remove(self, live: LiveTask) -> None:
        """Let a task wait no longer, if it does."""
        if waiting := self._by_id.pop(live.task_id, None):
            waiting.expiry.cancel()
            self._memory.take(waiting.live.owner, -waiting.size)

    def end_oldest(self, owner: str) -> None:
        """End the task that has waited longest, to free memory.

        It is one of the owner's own if the owner exceeds its share.
        """
        is_own = self._memory.is_full_for(owner)
        for live, *_ in self._by_id.values():
            if not is_own or live.owner == owner:
                self.remove(live)
                self._expire(live)
                return

    def close(self) -> None:
        """Drop all."""
        for waiting in self._by_id.values():
            waiting.expiry.cancel()
        self._by_id.clear()
