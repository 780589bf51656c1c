"""Agents whose streams deviate from the specification, like some real ones."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from starlette.responses import JSONResponse, Response

from tests.support.servers.sdk import pieces
from tests.support.servers.wire import (
    COMPLETED,
    WORKING,
    Call,
    TaskEvents,
    answering,
    message,
    sse,
)


@answering
async def chunks_without_task(call: Call) -> Response:
    """Streams chunks with `append` from the first one on, without the Task."""
    event = TaskEvents.answering(call)
    cut = pieces(f"pong: {call.text}")

    async def events() -> AsyncIterator[dict[str, Any]]:
        yield call.result(event.status(WORKING))
        for piece in cut:
            yield call.result(event.chunk(piece))
        yield call.result(event.status(COMPLETED))

    return sse(events()) if call.streams else JSONResponse(call.result(event.task(COMPLETED, *cut)))


@answering
async def task_then_message(call: Call) -> Response:
    """Announces a task in its stream and finally answers with a Message."""
    event = TaskEvents.answering(call)
    reply = message(f"pong: {call.text}")

    async def events() -> AsyncIterator[dict[str, Any]]:
        yield call.result(event.task(WORKING))
        yield call.result(event.status(WORKING, "thinking…"))
        yield call.result(reply)

    return sse(events()) if call.streams else JSONResponse(call.result(reply))
