"""A running call of an MCP server."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Iterator

    from a2a_adapters import AgentEvent
    from a2a_adapters_mcp.serving.calls import Call
    from a2a_adapters_mcp.serving.connection import Connection, News


class Work:
    """Runs a call in a separate task; exiting the context cancels it.

    Args:
        connection: The connection to the server.
        call: The call.
    """

    def __init__(self, connection: Connection, call: Call) -> None:
        self._connection = connection
        self._call = call
        self._news: asyncio.Queue[News | None] = asyncio.Queue()

    async def __aenter__(self) -> Self:
        calling = self._connection.call(self._call.events, self._news)
        self._calling = asyncio.create_task(calling)
        self._calling.add_done_callback(lambda _: self._news.put_nowait(None))
        return self

    async def __aexit__(self, *_: object) -> None:
        self._calling.cancel()
        await asyncio.wait({self._calling})

    async def news(self) -> News | None:
        """Return the next progress or question, None at the end."""
        return await self._news.get()

    def result(self) -> Iterator[AgentEvent]:
        """Return the events of the result.

        Raises:
            ServerGoneError: The server was unavailable or ended.
            McpError: The server returned a protocol error.
        """
        return self._calling.result()
