"""Extensions of the SDK's client session."""

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
"""Exceptions raised on a closed transport."""

_LAST_SECONDS = 1.0
"""Time limit for sending a cancellation."""

_PAGES = 100


class Session(ClientSession):
    """A session that notifies the server of cancelled calls."""

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
    """Forwards a stream of messages and detects its end."""

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
                    if _is_too_deep(message):  # its caller would wait forever
                        break
                    await self._send.send(message)
        self._ended.set()


def _is_too_deep(message: SessionMessage | Exception) -> bool:
    """Return whether a message is nested too deeply to parse."""
    return isinstance(message, ValueError) and "recursion limit" in str(message)


async def every_if_any(list_page: Callable[..., Awaitable[Any]], field: str) -> Sequence[Any]:
    """Like `every`, but empty if the server does not support the list despite its capabilities."""
    try:
        return await every(list_page, field)
    except McpError:
        return ()


async def every(list_page: Callable[..., Awaitable[Any]], field: str) -> Sequence[Any]:
    """Return the items of all pages of a list."""
    found: list[Any] = []
    cursor = None
    for _ in range(_PAGES):
        page = await list_page(params=types.PaginatedRequestParams(cursor=cursor))
        found += getattr(page, field)
        cursor = page.nextCursor
        if not cursor:
            break
    return found
