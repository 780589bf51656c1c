"""Agents that never finish."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from tests.support.servers.cards import CARD_PATH
from tests.support.servers.sdk import pieces
from tests.support.servers.wire import (
    WORKING,
    Call,
    TaskEvents,
    line,
    rpc_app,
    send_body,
    start_stream,
    until_disconnect,
)


class Hanging:
    """Falls silent at some point; `gone` is set when the client disconnects.

    Args:
        events: Number of events before the silence; None sends not even HTTP headers. Calls
            without a stream never get headers.
    """

    def __init__(self, events: int | None) -> None:
        self.gone = asyncio.Event()
        self._events = events
        self._app = rpc_app(self._answer)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)

    async def _answer(self, call: Call) -> Response:
        if self._events is None or not call.streams:
            return _Silence(self.gone, None)
        task_events = TaskEvents.answering(call)
        chunks = (
            task_events.chunk(text, append=n > 0) for n, text in enumerate(pieces("pong: ping"))
        )
        events = [task_events.task(WORKING), *chunks][: self._events]
        return _Silence(self.gone, [call.result(event) for event in events])


def hangs_before_headers() -> Hanging:
    """Never answers a call."""
    return Hanging(None)


def hangs_after_headers() -> Hanging:
    """Starts a stream without sending events."""
    return Hanging(0)


def hangs_mid_stream() -> Hanging:
    """Sends a Task and one chunk, then nothing."""
    return Hanging(2)


def hanging_card() -> ASGIApp:
    """Never answers the request for its card."""

    async def card(request: Request) -> Response:
        return _Silence(asyncio.Event(), None)

    return Starlette(routes=[Route(CARD_PATH, card)])


def endless_chunks(pause: float = 0.0) -> ASGIApp:
    """Streams chunks of 1 KiB without end, `pause` seconds apart."""

    async def lines(call: Call) -> AsyncIterator[str]:
        task_events = TaskEvents.answering(call)
        yield line(call.result(task_events.task(WORKING)))
        yield line(call.result(task_events.chunk("x" * 1024, append=False)))
        while True:
            await asyncio.sleep(pause)
            yield line(call.result(task_events.chunk("x" * 1024)))

    return _streaming(lines)


def endless_comments(pause: float = 0.01) -> ASGIApp:
    """Streams a Task and then only SSE comments, like keep-alives."""

    async def lines(call: Call) -> AsyncIterator[str]:
        yield line(call.result(TaskEvents.answering(call).task(WORKING)))
        while True:
            await asyncio.sleep(pause)
            yield ": still there\n\n"

    return _streaming(lines)


def _streaming(lines: Callable[[Call], AsyncIterator[str]]) -> ASGIApp:
    async def answer(call: Call) -> Response:
        return StreamingResponse(lines(call), media_type="text/event-stream")

    return rpc_app(answer)


class _Silence(Response):
    """Sends some events, or not even headers, and waits for a disconnect."""

    def __init__(self, gone: asyncio.Event, events: list[dict[str, Any]] | None) -> None:
        self._gone = gone
        self._events = events

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._events is not None:
            await start_stream(send)
            for event in self._events:
                await send_body(send, line(event))
        await until_disconnect(receive)
        self._gone.set()
