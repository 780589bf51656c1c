"""Agents whose streams are not quite what the specification says, as some real ones send them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp

from tests.remote.servers.sdk import pieces
from tests.remote.servers.wire import (
    COMPLETED,
    WORKING,
    Call,
    chunk,
    message,
    rpc_app,
    sse,
    status,
    task,
)


def chunks_without_task() -> ASGIApp:
    """Streams chunks that say `append` from the first one on, and never sends the Task."""

    async def answer(call: Call) -> Response:
        cut = pieces(f"pong: {call.text}")

        async def events() -> AsyncIterator[dict[str, Any]]:
            yield call.result(status(WORKING))
            for piece in cut:
                yield call.result(chunk(piece, append=True))
            yield call.result(status(COMPLETED))

        return sse(events()) if call.streams else JSONResponse(call.result(task(COMPLETED, *cut)))

    return rpc_app(answer)


def task_then_message() -> ASGIApp:
    """Announces a task in its stream and answers with a Message, which is the end of it."""

    async def answer(call: Call) -> Response:
        reply = message(f"pong: {call.text}")

        async def events() -> AsyncIterator[dict[str, Any]]:
            yield call.result(task(WORKING))
            yield call.result(status(WORKING, "thinking…"))
            yield call.result(reply)

        return sse(events()) if call.streams else JSONResponse(call.result(reply))

    return rpc_app(answer)
