"""Bounds the size of requests, of one and of all that come in at a time."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from starlette.requests import ClientDisconnect

from a2a_adapters.concurrency.threads import computed
from a2a_adapters.concurrency.waiting import within
from a2a_adapters.protocol.errors import RETRY_AFTER_SECONDS
from a2a_adapters.protocol.values import has_more_values
from a2a_adapters.security.refusals import Refusal, refuse

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from a2a_adapters.contract.limits import Limits

BODY = "a2a_adapters.body"
"""Where the scope of a request has its `Body`."""

_SMALL_BYTES = 64 * 1024
"""Bodies of that size are always taken, so that large ones keep nobody else out."""

_DISCARDED_BODIES = 32
_DISCARDED_BYTES = 64 * 1024 * 1024
_DISCARDING_SECONDS = 5.0


class Bodies:
    """What all bodies that are being received hold together.

    Args:
        limits: How much that may be, and what one of them may be.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.held_bytes = 0
        self._discarding = 0
        close = {"Connection": "close"}
        self.too_large = Refusal(
            413,
            "INVALID_ARGUMENT",
            f"the request is larger than {limits.body_bytes} bytes, which is the most this agent "
            "takes",
            close,
        )
        self.too_many_values = Refusal(
            413, "INVALID_ARGUMENT", f"a request to this agent holds {limits.values} values at most"
        )
        self.too_slow = Refusal(
            408,
            "DEADLINE_EXCEEDED",
            f"the request did not come in within {limits.body_seconds:g} s",
            close,
        )
        self.busy = Refusal(
            503,
            "UNAVAILABLE",
            "The agent is busy with other large requests; try again later",
            {"Retry-After": str(RETRY_AFTER_SECONDS), **close},
        )

    async def discard(self, receive: Receive) -> None:
        """Read on for a while: most clients read no answer before they have sent everything.

        Where too many do so at once, the rest find their connections closed.
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
    """ASGI middleware: reads bodies as far as they may go, and refuses the rest.

    Args:
        app: What is protected.
        bodies: The limits, and what is received besides.
    """

    def __init__(self, app: ASGIApp, bodies: Bodies) -> None:
        self._app = app
        self._bodies = bodies
        self._limits = bodies.limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request (ASGI)."""
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
            scope.pop(BODY, None)  # it holds the scope: without it both are freed at once
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
        # What is so short cannot hold more.
        if body.has_left or body.size <= self._limits.values:
            return None
        has_too_many = await computed(has_more_values, body.content, self._limits.values)
        return self._bodies.too_many_values if has_too_many else None


class Body:
    """What has come of one body.

    Attributes:
        size: How much that is.
        is_whole: Whether there is no more of it.
        has_left: Whether the client has left.
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
        """Take what has come; return why it is too much, if it is."""
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
        """All that came, in one piece.

        Raises:
            ClientDisconnect: The client left before it had sent everything.
        """
        if self.has_left:
            raise ClientDisconnect
        if len(self._chunks) != 1:
            self._chunks = [b"".join(self._chunks)]
        return self._chunks[0]

    def take(self) -> bytes:
        """Return all that came, and count it no longer.

        Raises:
            ClientDisconnect: The client left before it had sent everything.
        """
        content = self.content
        self.release()
        return content

    async def replayed(self) -> Message:
        """Return the whole body, and then what comes after it (ASGI)."""
        if not self._chunks:
            return await self._receive()
        content = b"".join(self._chunks)
        self._chunks = []
        if self.has_left:
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": content, "more_body": False}

    async def client_has_left(self) -> bool:
        """Tell whether the client, who has sent everything, does not wait for the answer."""
        with suppress(TimeoutError):
            async with asyncio.timeout(0):
                self.has_left = (await self._receive())["type"] == "http.disconnect"
        return self.has_left

    def release(self) -> None:
        """Count it no longer."""
        self._chunks = []
        self._bodies.held_bytes -= self._counted
        self.size = self._counted = 0


def _waits(scope: Scope) -> bool:
    """Tell whether the client sends nothing before it is told to: reading would tell it."""
    return any(
        name == b"expect" and value.lower() == b"100-continue" for name, value in scope["headers"]
    )


def _length(scope: Scope) -> int | None:
    """Return the length of the body, None if it is not told."""
    length = b""
    for name, value in scope["headers"]:
        if name == b"content-length":
            length = value
        elif name == b"transfer-encoding":
            return None
    return int(length) if length.isdigit() and len(length) < 20 else None
