"""The bodies of requests on their way to what they say."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

from starlette.requests import ClientDisconnect

from a2a_adapters.concurrency.threads import LARGE_BYTES, computed
from a2a_adapters.security.body import BODY

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import Scope

    from a2a_adapters.security.body import Body

T = TypeVar("T")


class Intake:
    """Lets the requests of one agent be parsed and converted: small ones at once.

    What is made of a large one takes many times what came. They go one after the other, beside
    the event loop, and as long as one waits for its turn nothing is there but its bytes.
    """

    def __init__(self) -> None:
        self._lock = asyncio.Lock()

    async def read(self, scope: Scope, convert: Callable[[bytes], T]) -> T:
        """Return what `convert` makes of the body of a request, which does not keep it.

        Raises:
            ClientDisconnect: Its client has left meanwhile.
        """
        body: Body = scope[BODY]
        if body.size <= LARGE_BYTES:
            return convert(body.take())
        try:
            async with self._lock:
                if await body.client_has_left():
                    raise ClientDisconnect
                return await computed(convert, body.content)
        finally:
            body.release()
