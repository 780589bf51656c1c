"""Turns of tasks that use the same object, also in several event loops."""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections import deque

__all__ = ["Turns"]


class Turns:
    """Lets tasks use an object one after the other: `async with turns.of(agent)`.

    Objects may be unhashable, and are not kept alive.
    """

    def __init__(self) -> None:
        self._turns: dict[int, _Turn] = {}

    def of(self, owner: object) -> _Turn:
        """Return the lock of an object."""
        key = id(owner)
        if key not in self._turns:
            weakref.finalize(owner, self._turns.pop, key, None).atexit = False
        return self._turns.setdefault(key, _Turn())


class _Turn:
    """A lock for tasks of any event loop, which get it in the order in which they asked."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._holder: asyncio.AbstractEventLoop | None = None
        """The event loop of the task that has the lock."""
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def __aenter__(self) -> None:
        loop = asyncio.get_running_loop()
        with self._guard:
            if self._holder is None or self._holder.is_closed():
                self._holder = loop
                return
            turn = loop.create_future()
            self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            with self._guard:
                was_given = turn not in self._waiting
                if not was_given:
                    self._waiting.remove(turn)
            if was_given:
                self._pass_on()
            raise

    async def __aexit__(self, *_: object) -> None:
        self._pass_on()

    def _pass_on(self) -> None:
        with self._guard:
            self._holder = None
            while self._waiting and self._holder is None:
                turn = self._waiting.popleft()
                loop = turn.get_loop()
                if not loop.is_closed():
                    loop.call_soon_threadsafe(_give, turn)
                    self._holder = loop


def _give(turn: asyncio.Future[None]) -> None:
    if not turn.done():
        turn.set_result(None)
