"""What the SDK's session with an MCP server lacks."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeAlias

import anyio
from mcp import ClientSession, McpError, types

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from anyio.streams.memory import MemoryObjectReceiveStream
    from mcp.shared.message import SessionMessage

    Incoming: TypeAlias = MemoryObjectReceiveStream[SessionMessage | Exception]

CLOSED = (anyio.ClosedResourceError, anyio.BrokenResourceError)
"""What is raised where a transport has ended."""

_LAST_SECONDS = 1.0
"""How long it may take to tell a server that a call is not waited for any more."""

_PAGES = 100


class Session(ClientSession):
    """A session that tells the server of calls that are not waited for any more."""

    async def send_request(self, *args: Any, **kwargs: Any) -> Any:
        """Send a request and return its result."""
        request_id = self._request_id
        try:
            return await super().send_request(*args, **kwargs)
        except asyncio.CancelledError:
            params = types.CancelledNotificationParams(requestId=request_id)
            note = types.ClientNotification(types.CancelledNotification(params=params))
            with anyio.move_on_after(_LAST_SECONDS, shield=True), suppress(*CLOSED):
                await self.send_notification(note)
            raise


class Watched:
    """Hands a stream of messages on, and sees its end."""

    def __init__(self, read: Incoming, ended: asyncio.Event) -> None:
        self._read = read
        self._ended = ended
        self._send, self._receive = anyio.create_memory_object_stream[Any](0)

    async def __aenter__(self) -> Incoming:
        self._task = asyncio.create_task(self._hand_on())
        return self._receive

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()
        for stream in (self._send, self._receive, self._read):
            stream.close()

    async def _hand_on(self) -> None:
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            async with self._send:
                async for message in self._read:
                    if _is_too_deep(message):  # whoever waits for it would wait for ever
                        break
                    await self._send.send(message)
        self._ended.set()


def _is_too_deep(message: SessionMessage | Exception) -> bool:
    """Tell whether something came that is no line of a log, but cannot be read all the same."""
    return isinstance(message, ValueError) and "recursion limit" in str(message)


async def every_if_any(list_page: Callable[..., Awaitable[Any]], field: str) -> Sequence[Any]:
    """Return the same of a list that not all servers have, whatever they say of themselves."""
    try:
        return await every(list_page, field)
    except McpError:
        return ()


async def every(list_page: Callable[..., Awaitable[Any]], field: str) -> Sequence[Any]:
    """Return the items of all pages of a list that a server has."""
    found: list[Any] = []
    cursor = None
    for _ in range(_PAGES):
        page = await list_page(params=types.PaginatedRequestParams(cursor=cursor))
        found += getattr(page, field)
        cursor = page.nextCursor
        if not cursor:
            break
    return found
