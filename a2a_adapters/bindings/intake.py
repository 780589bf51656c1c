"""Large requests, one after the other: what is made of one takes many times what came."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from starlette.requests import ClientDisconnect

from a2a_adapters.concurrency.computing import LARGE_BYTES
from a2a_adapters.security.body import body_size, client_has_left

if TYPE_CHECKING:
    from starlette.requests import Request


class Intake:
    """Lets the requests of one agent be parsed and converted: small ones at once.

    As long as a large one waits for its turn, nothing is there but the bytes that came.
    """

    def __init__(self) -> None:
        self._lock = asyncio.Lock()

    def turn(self, request: Request) -> Turn:
        """Return a context in which a request may be parsed and converted.

        Raises:
            ClientDisconnect: Its client has left meanwhile.
        """
        return Turn(self._lock if body_size(request) > LARGE_BYTES else None, request)


class Turn:
    """The time in which one request is parsed and converted."""

    __slots__ = ("_lock", "_request")

    def __init__(self, lock: asyncio.Lock | None, request: Request) -> None:
        self._lock = lock
        self._request = request

    async def __aenter__(self) -> None:
        if self._lock is None:
            return
        await self._lock.acquire()
        try:
            has_left = await client_has_left(self._request)
        except BaseException:
            self._lock.release()
            raise
        if has_left:
            self._lock.release()
            raise ClientDisconnect

    async def __aexit__(self, *_: object) -> None:
        if self._lock is not None:
            self._lock.release()
