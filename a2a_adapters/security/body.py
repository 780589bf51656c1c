"""Bounds the size of requests."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from a2a_adapters.headers import headers_of
from a2a_adapters.security.refusals import Refusal, refuse

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_DISCARDED_BYTES = 64 * 1024 * 1024
_DISCARDING_SECONDS = 5.0


class BodyLimit:
    """ASGI middleware: keeps no more of a body than it may have, and refuses the rest.

    A body that tells its length is refused by that, and the server holds it to it; one of
    unknown length is counted while it is read.

    Args:
        app: What is protected.
        limit: How many bytes a body may have.
    """

    def __init__(self, app: ASGIApp, limit: int) -> None:
        self._app = app
        self._limit = limit
        message = f"the request is larger than {limit} bytes, which is the most this agent takes"
        self._refusal = Refusal(413, "INVALID_ARGUMENT", message, {"Connection": "close"})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request (ASGI)."""
        length = _length(scope)
        if length is not None and length <= self._limit:
            await self._app(scope, receive, send)
        elif length is None and (body := await _read(receive, self._limit)) is not None:
            await self._app(scope, _replay(body, receive), send)
        else:
            if length is not None:
                await _discard(receive)
            await refuse(self._refusal, scope, receive, send)


async def _read(receive: Receive, limit: int) -> list[Message] | None:
    """Return the messages of a body, None if it is too large."""
    messages = []
    left, more = limit, True
    while more:
        message = await receive()
        left -= len(message.get("body", b""))
        more = message.get("more_body", False)  # not so at its end, or when the client has left
        if left < 0:
            break
        messages.append(message)
    if left >= 0:
        return messages
    if more:
        await _discard(receive)
    return None


async def _discard(receive: Receive) -> None:
    """Read on for a while: most clients read no answer before they have sent everything."""
    left = _DISCARDED_BYTES
    with suppress(TimeoutError):
        async with asyncio.timeout(_DISCARDING_SECONDS):
            while left > 0 and (message := await receive()).get("more_body"):
                left -= len(message["body"])


def _replay(messages: list[Message], receive: Receive) -> Receive:
    read = iter(messages)

    async def replayed() -> Message:
        message = next(read, None)
        return await receive() if message is None else message

    return replayed


def _length(scope: Scope) -> int | None:
    """Return the length of the body, None if it is not told."""
    headers = headers_of(scope)
    length = headers.get("content-length", "")
    return int(length) if length.isdecimal() and "transfer-encoding" not in headers else None
