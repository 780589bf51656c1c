"""A lock for tasks of several event loops, which `asyncio.Lock` does not support."""

from __future__ import annotations

import asyncio
import threading
from collections import deque

__all__ = ["Turns"]


class Turns:
    """Lets tasks of any event loop use something one after the other: `async with turns: ...`.

    They get their turns in the order in which they asked. One whose event loop is closed loses it.
    """

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._holder: asyncio.AbstractEventLoop | None = None
        """The event loop of the task whose turn it is."""
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
                try:
                    turn.get_loop().call_soon_threadsafe(_give, turn)
                except RuntimeError:  # the loop is closed
                    continue
                self._holder = turn.get_loop()


def _give(turn: asyncio.Future[None]) -> None:
    if not turn.done():
        turn.set_result(None)
