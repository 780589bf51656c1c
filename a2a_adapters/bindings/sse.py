"""Server-sent events of one subscription, as an ASGI response."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from a2a.utils.errors import A2AError
from starlette.responses import Response

from a2a_adapters.bindings.http import slices
from a2a_adapters.concurrency.threads import LARGE_BYTES, computed
from a2a_adapters.observability.failures import hidden

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from starlette.types import Receive, Scope, Send

    from a2a_adapters.runtime.subscriber import Subscription
    from a2a_adapters.runtime.updates import AnyUpdate

_HEARTBEAT_SECONDS = 15.0
_HEARTBEAT = b": keep-alive\n\n"

_REFUSAL_SECONDS = 3.0
"""Time in which an error may still replace a stream without updates."""


@dataclass(frozen=True, slots=True)
class Frame:
    """Frames updates as events: head, JSON (the same bytes for all readers) and tail."""

    head: bytes
    encode: Callable[[AnyUpdate], bytes]
    tail: bytes

    async def pieces(self, updates: Sequence[AnyUpdate]) -> list[bytes]:
        """Return the bytes of the updates, in pieces that may be shared."""
        head, encode, tail = self.head, self.encode, self.tail
        pieces = []
        for update in updates:
            if update.size > LARGE_BYTES:
                pieces += [head, await computed(encode, update), tail]
            else:
                pieces.append(head + encode(update) + tail)
        return pieces


class EventStream(Response):
    """Sends updates until the subscription ends or the client leaves.

    All queued updates go out in one write, and one small task watches for the client's
    disconnection; a2a-sdk's response needs a queue and several tasks per stream, and ends lines
    with CRLF.
    """

    media_type = "text/event-stream"

    def __init__(
        self,
        subscription: Subscription,
        first: list[AnyUpdate] | None,
        frame: Frame,
        frame_error: Callable[[A2AError], bytes],
    ) -> None:
        super().__init__(headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._subscription = subscription
        self._first = first
        self._frame = frame
        self._frame_error = frame_error

    @classmethod
    async def open(
        cls, subscription: Subscription, frame: Frame, frame_error: Callable[[A2AError], bytes]
    ) -> EventStream:
        """Wait a moment for the first update.

        An agent that refuses a message usually does so at once; the client then gets an error
        instead of a stream. A later refusal is the only event of the stream.

        Raises:
            A2AError: The message was refused.
        """
        try:
            async with asyncio.timeout(_REFUSAL_SECONDS):
                first = await subscription.take()
        except TimeoutError:
            return cls(subscription, None, frame, frame_error)
        except BaseException:
            subscription.close()
            raise
        return cls(subscription, first, frame, frame_error)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        """Send the stream (ASGI)."""
        watcher = asyncio.create_task(self._watch(receive, send))
        try:
            start = {"status": self.status_code, "headers": self.raw_headers}
            await send({"type": "http.response.start", **start})
            await self._send_updates(send)
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            watcher.cancel()
            self._subscription.close()

    async def _send_updates(self, send: Send) -> None:
        updates = self._first
        try:
            if updates is None:
                await send({"type": "http.response.body", "body": _HEARTBEAT, "more_body": True})
                updates = await self._subscription.take()
            while updates:
                try:
                    pieces = await self._frame.pieces(updates)
                except Exception as error:
                    raise hidden(error, "a stream") from error
                for body in slices(pieces):
                    await send({"type": "http.response.body", "body": body, "more_body": True})
                del pieces
                updates = await self._subscription.take()
        except A2AError as error:
            body = self._frame_error(error)
            await send({"type": "http.response.body", "body": body, "more_body": True})

    async def _watch(self, receive: Receive, send: Send) -> None:
        """Close the subscription when the client leaves; send heartbeats."""
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
