"""Turns: one after the other, in whichever event loop each one is."""

from __future__ import annotations

import asyncio
from collections import deque
from concurrent.futures import Future
from threading import Lock


class Turns:
    """A lock whose holders come from several event loops: `async with turns: ...`.

    `asyncio.Lock` knows one event loop only, but blocking code calls from another one than
    async code does. Whoever waits longest is next.
    """

    def __init__(self) -> None:
        self._guard = Lock()
        self._is_taken = False
        self._waiting: deque[Future[None]] = deque()

    async def __aenter__(self) -> None:
        turn: Future[None] = Future()
        with self._guard:
            if not self._is_taken:
                self._is_taken = True
                return
            self._waiting.append(turn)
        try:
            await asyncio.wrap_future(turn)
        except asyncio.CancelledError:
            if not turn.cancel():  # it had just been given
                self._pass_on()
            raise

    async def __aexit__(self, *_: object) -> None:
        self._pass_on()

    def _pass_on(self) -> None:
        with self._guard:
            while self._waiting:
                turn = self._waiting.popleft()
                if turn.set_running_or_notify_cancel():
                    turn.set_result(None)
                    return
            self._is_taken = False
