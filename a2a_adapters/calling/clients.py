"""HTTP clients: one for every event loop that an agent is called from."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, suppress
from typing import TYPE_CHECKING
from weakref import finalize, ref

from a2a_adapters.calling.http import make_client
from a2a_adapters.concurrency import in_background

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping

    import httpx

    from a2a_adapters.calling.options import RemoteOptions

__all__ = ["HttpClients"]

_UNUSED_SECONDS = 1.0
"""How long what nobody uses stays open: closing is no task for an event loop that is ending."""

_LOOK_SECONDS = 0.1
"""How often to look whether another event loop has ended: it tells nobody."""

_kept: dict[httpx.AsyncClient, AsyncGenerator[None]] = {}
"""What is open, with what holds it: neither may become garbage before it is closed."""


class HttpClients:
    """Opens an HTTP client per event loop and closes it with that loop.

    An HTTP connection belongs to the event loop it was opened in, and scripts run several one
    after the other (`asyncio.run`). Each client is held by an async generator, because these are
    what an event loop closes before it ends.

    Args:
        url: The address of what is called; None trusts every host that a card names.
        auth: The credentials; hosts other than that of `url` do not get them.
        options: Limits and choices.
        on_close: Told the event loop whose client is closed. It must not refer to this object.
    """

    def __init__(
        self,
        url: httpx.URL | None,
        auth: httpx.Auth | None,
        options: RemoteOptions,
        on_close: Callable[[asyncio.AbstractEventLoop], object] | None = None,
    ) -> None:
        self._url = url
        self._auth = auth
        self._options = options
        self._on_close = on_close
        self._open: dict[asyncio.AbstractEventLoop, httpx.AsyncClient] = {}
        self._holders: dict[asyncio.AbstractEventLoop, AsyncGenerator[None]] = {}
        self._closing: dict[asyncio.AbstractEventLoop, AsyncExitStack] = {}
        finalize(self, _close_all, self._holders)

    async def get(self) -> httpx.AsyncClient:
        """Return the client of the running event loop, opened if need be."""
        loop = asyncio.get_running_loop()
        if loop not in self._open:
            http = self._open[loop] = make_client(self._url, self._options, self._auth)
            closing = self._closing[loop] = AsyncExitStack()
            holder = self._holders[loop] = _kept[http] = _hold(http, closing, ref(self))
            await anext(holder)
        return self._open[loop]

    def closing(self) -> AsyncExitStack:
        """Return what is closed with the client of the running event loop."""
        return self._closing[asyncio.get_running_loop()]

    def forget(self, loop: asyncio.AbstractEventLoop) -> None:
        """Take note that the client of an event loop is closed."""
        self._open.pop(loop, None)
        self._holders.pop(loop, None)
        self._closing.pop(loop, None)
        if self._on_close is not None:
            self._on_close(loop)

    async def aclose(self) -> None:
        """Close what is open, in whichever event loop that is."""
        here = asyncio.get_running_loop()
        for loop, holder in list(self._holders.items()):
            if loop is here:
                await holder.aclose()
            elif loop.is_running():
                await _closed_in(loop, holder)


async def _closed_in(loop: asyncio.AbstractEventLoop, holder: AsyncGenerator[object]) -> None:
    """Wait until the event loop of a client has closed it, or has ended, which does so too."""
    with suppress(RuntimeError):  # the loop is closed, or closes the client just now
        closed = asyncio.wrap_future(asyncio.run_coroutine_threadsafe(holder.aclose(), loop))
        while not closed.done() and not loop.is_closed():
            await asyncio.wait([closed], timeout=_LOOK_SECONDS)
        if closed.done() and not closed.cancelled():
            closed.result()


async def _hold(
    http: httpx.AsyncClient, closing: AsyncExitStack, owner: ref[HttpClients]
) -> AsyncGenerator[None]:
    """Keep a client open until this is closed, at the latest by the event loop."""
    try:
        async with http, closing:
            yield
    finally:
        del _kept[http]
        if (clients := owner()) is not None:
            clients.forget(asyncio.get_running_loop())


def _close_all(holders: Mapping[asyncio.AbstractEventLoop, AsyncGenerator[object]]) -> None:
    """Close what an agent that nobody uses any more has left open."""
    for loop, holder in list(holders.items()):
        if not loop.is_closed():
            loop.call_soon_threadsafe(loop.call_later, _UNUSED_SECONDS, _close_soon, holder)


def _close_soon(holder: AsyncGenerator[object]) -> None:
    in_background(holder.aclose())
