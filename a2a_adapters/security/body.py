"""Limits the size of request bodies, individually and in total."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from starlette.requests import ClientDisconnect

from a2a_adapters.concurrency.threads import computed
from a2a_adapters.concurrency.waiting import within
from a2a_adapters.protocol.errors import RETRY_AFTER_SECONDS
from a2a_adapters.security.refusals import Refusal, refuse

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from a2a_adapters.contract.limits import Limits

BODY = "a2a_adapters.body"
"""Scope key of a request's `Body`."""

_SMALL_BYTES = 64 * 1024
"""Bodies up to this size do not count, so that large ones cannot block them."""

_DISCARDED_BODIES = 32
_DISCARDED_BYTES = 64 * 1024 * 1024
_DISCARDING_SECONDS = 5.0


class Bodies:
    """Counts the bytes of the bodies being received, and refuses those beyond a limit."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.held_bytes = 0
        self._discarding = 0
        close = {"Connection": "close"}
        self.too_large = Refusal(
            413,
            "INVALID_ARGUMENT",
            f"the request is larger than {limits.body_bytes} bytes, the maximum of this agent",
            close,
        )
        self.too_many_values = Refusal(
            413, "INVALID_ARGUMENT", f"a request may have at most {limits.values} JSON values"
        )
        self.too_slow = Refusal(
            408,
            "DEADLINE_EXCEEDED",
            f"the request did not arrive within {limits.body_seconds:g} s",
            close,
        )
        self.busy = Refusal(
            503,
            "UNAVAILABLE",
            "The agent is busy with other large requests; try again later",
            {"Retry-After": str(RETRY_AFTER_SECONDS), **close},
        )

    async def discard(self, receive: Receive) -> None:
        """Read on for a while, because most clients only read the answer after sending everything.

        If too many requests are being discarded, the connection is closed instead.
        """
        if self._discarding >= _DISCARDED_BODIES:
            return
        self._discarding += 1
        left = _DISCARDED_BYTES
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(_DISCARDING_SECONDS):
                    while left > 0 and (message := await receive()).get("more_body"):
                        left -= len(message["body"])
        finally:
            self._discarding -= 1


class BodyLimit:
    """ASGI middleware that reads bodies within the limits and refuses larger ones."""

    def __init__(self, app: ASGIApp, bodies: Bodies) -> None:
        self._app = app
        self._bodies = bodies
        self._limits = bodies.limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request (ASGI)."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        body = Body(self._bodies, receive)
        try:
            refusal = await self._read(body, scope, receive)
            if refusal is not None:
                reads_on = refusal in (self._bodies.too_large, self._bodies.busy)
                body.release()
                if reads_on and not body.is_whole and not _waits(scope):
                    await self._bodies.discard(receive)
                await refuse(refusal, scope, receive, send)
            else:
                scope[BODY] = body
                await self._app(scope, body.replayed, send)
        finally:
            scope.pop(BODY, None)  # breaks a reference cycle, so that both are freed immediately
            if body.size:
                body.release()

    async def _read(self, body: Body, scope: Scope, receive: Receive) -> Refusal | None:
        length = _length(scope)
        if length is not None and length > self._limits.body_bytes:
            return self._bodies.too_large
        refusal = None
        deadline = asyncio.get_running_loop().time() + self._limits.body_seconds
        try:
            while refusal is None and not body.is_whole:
                refusal = body.add(await within(deadline, receive()))
        except TimeoutError:
            refusal = self._bodies.too_slow
        if refusal is not None:
            return refusal
        # A shorter body cannot contain more values.
        if body.has_left or body.size <= self._limits.values:
            return None
        has_too_many = await computed(has_more_values, body.content, self._limits.values)
        return self._bodies.too_many_values if has_too_many else None


class Body:
    """The received part of a body.

    Attributes:
        size: Its size in bytes.
        is_whole: Whether the body is complete.
        has_left: Whether the client has disconnected.
    """

    __slots__ = ("_bodies", "_chunks", "_counted", "_receive", "has_left", "is_whole", "size")

    def __init__(self, bodies: Bodies, receive: Receive) -> None:
        self._bodies = bodies
        self._receive = receive
        self._chunks: list[bytes] = []
        self.size = self._counted = 0
        self.is_whole = False
        self.has_left = False

    def add(self, message: Message) -> Refusal | None:
        """Add a received message, and return the reason to refuse the body, or None."""
        self.has_left = message["type"] == "http.disconnect"
        self.is_whole = not message.get("more_body", False)
        chunk = message.get("body", b"")
        self._chunks.append(chunk)
        self.size += len(chunk)
        limits = self._bodies.limits
        if self.size > limits.body_bytes:
            return self._bodies.too_large
        if self.size > _SMALL_BYTES:
            self._bodies.held_bytes += self.size - self._counted
            self._counted = self.size
            if self._bodies.held_bytes > limits.bodies_bytes:
                return self._bodies.busy
        return None

    @property
    def content(self) -> bytes:
        """The received bytes.

        Raises:
            ClientDisconnect: The client disconnected before it had sent everything.
        """
        if self.has_left:
            raise ClientDisconnect
        if len(self._chunks) != 1:
            self._chunks = [b"".join(self._chunks)]
        return self._chunks[0]

    def take(self) -> bytes:
        """Return the received bytes and release the body; raises as `content` does."""
        content = self.content
        self.release()
        return content

    async def replayed(self) -> Message:
        """Return the complete body, and then further messages (ASGI)."""
        if not self._chunks:
            return await self._receive()
        content = b"".join(self._chunks)
        self._chunks = []
        if self.has_left:
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": content, "more_body": False}

    async def client_has_left(self) -> bool:
        """Return whether the client has disconnected without waiting for the answer."""
        with suppress(TimeoutError):
            async with asyncio.timeout(0):
                self.has_left = (await self._receive())["type"] == "http.disconnect"
        return self.has_left

    async def left(self) -> None:
        """Wait until the client disconnects."""
        while (await self.replayed())["type"] != "http.disconnect":
            pass

    def release(self) -> None:
        """Drop the received bytes and stop counting them."""
        self._chunks = []
        self._bodies.held_bytes -= self._counted
        self.size = self._counted = 0


def _waits(scope: Scope) -> bool:
    """Return whether the client waits for `100 Continue`, which reading would send."""
    return any(
        name == b"expect" and value.lower() == b"100-continue" for name, value in scope["headers"]
    )


def _length(scope: Scope) -> int | None:
    """Return the announced length of the body, or None."""
    length = b""
    for name, value in scope["headers"]:
        if name == b"content-length":
            length = value
        elif name == b"transfer-encoding":
            return None
    return int(length) if length.isdigit() and len(length) < 20 else None


def has_more_values(json: bytes, limit: int) -> bool:
    """Return whether a JSON text contains more than `limit` values, at the speed of `bytes.count`.

    It is counted before parsing, because a value of two bytes takes hundreds in memory. Each value
    except the first follows one of `[`, `{` and `,` outside strings.
    """
    if len(json) <= limit or _count(json) <= limit:
        return False
    text = json.replace(b"\\\\", b"").replace(b'\\"', b"")
    if text.count(b'"') > 4 * (limit + 2):  # two per value and two per key
        return True
    bare = b"0".join(text.split(b'"')[::2])  # "0", so that a list of one string is not empty
    return _count(bare.translate(None, b" \t\r\n")) > limit


def _count(text: bytes) -> int:
    """Count the values of a text without strings; with strings, this is an upper bound."""
    openings = text.count(b",") + text.count(b"[") + text.count(b"{")
    return 1 + openings - text.count(b"[]") - text.count(b"{}")
