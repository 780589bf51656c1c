"""Server-sent events of one subscription, as an ASGI response."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from starlette.responses import Response

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import Receive, Scope, Send

    from a2a_adapters.runtime.subscription import Subscription
    from a2a_adapters.runtime.updates import AnyUpdate

_HEARTBEAT_SECONDS = 15.0
_HEARTBEAT = b": keep-alive\n\n"


class EventStream(Response):
    """Sends updates until the subscription ends or the client goes away.

    All updates that have queued up go out in one write, and one small task beside the
    writer watches for the client leaving; a2a-sdk's response needs a queue and several
    tasks per stream, and frames events with CRLF.

    Args:
        subscription: What is sent.
        first: Updates already taken from it.
        frame: Makes the event's bytes from an update.
    """

    media_type = "text/event-stream"

    def __init__(
        self,
        subscription: Subscription,
        first: list[AnyUpdate],
        frame: Callable[[AnyUpdate], bytes],
    ) -> None:
        super().__init__(headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._subscription = subscription
        self._first = first
        self._frame = frame

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        """Send the stream (ASGI)."""
        watcher = asyncio.create_task(self._watch(receive, send))
        try:
            start = {"status": self.status_code, "headers": self.raw_headers}
            await send({"type": "http.response.start", **start})
            updates = self._first
            while updates:
                body = b"".join(map(self._frame, updates))
                await send({"type": "http.response.body", "body": body, "more_body": True})
                updates = await self._subscription.take()
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            watcher.cancel()
            self._subscription.close()

    async def _watch(self, receive: Receive, send: Send) -> None:
        """Close the subscription when the client leaves; keep quiet connections open."""
        while True:
            try:
                async with asyncio.timeout(_HEARTBEAT_SECONDS):
                    while (await receive())["type"] != "http.disconnect":
                        pass
            except TimeoutError:
                await send({"type": "http.response.body", "body": _HEARTBEAT, "more_body": True})
            else:
                self._subscription.close()
                return
