"""HTTP endpoint that answers with JSON, or with an event stream once there is progress."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeAlias

from a2a.utils.errors import A2AError
from mcp.types import INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, PARSE_ERROR
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response

from a2a_adapters.dialects import log_failure, one_line
from a2a_adapters_mcp.offering.stateless.envelope import (
    HEADER_MISMATCH,
    MISSING_CAPABILITY,
    UNSUPPORTED_VERSION,
    Envelope,
    RpcError,
    is_notification,
    read,
    request_id,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from starlette.types import Receive, Scope, Send

    from a2a_adapters_mcp.offering.stateless.envelope import RequestId
    from a2a_adapters_mcp.offering.work import Tell

Method: TypeAlias = "Callable[[Envelope, Request, Tell], Awaitable[Mapping[str, Any]]]"
"""Returns the result of a request and reports progress."""

_INTERNAL_ERROR = -32603
_HTTP_STATUS = {
    METHOD_NOT_FOUND: 404,
    **dict.fromkeys(
        (
            PARSE_ERROR,
            INVALID_REQUEST,
            INVALID_PARAMS,
            HEADER_MISMATCH,
            MISSING_CAPABILITY,
            UNSUPPORTED_VERSION,
        ),
        400,
    ),
}
_QUIET_SECONDS = 15.0
"""Interval of keep-alives, because proxies close silent connections."""

_MOST_WAITING = 1_000
"""Maximum progress queued for a slow client; more is dropped."""

_STREAM = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
]


class StatelessEndpoint:
    """Answers stateless requests.

    Args:
        method: Executes requests.
    """

    def __init__(self, method: Method) -> None:
        self._method = method

    async def answer(self, body: object, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request with a parsed body (ASGI); a disconnect cancels it."""
        if is_notification(body):  # none is relevant here
            await Response(status_code=202)(scope, receive, send)
            return
        try:
            envelope = read(body, Headers(scope=scope))
        except RpcError as error:
            await _json(_refusal(request_id(body), error), scope, receive, send)
            return
        news: asyncio.Queue[bytes | None] = asyncio.Queue()
        working = asyncio.create_task(self._carry_out(envelope, Request(scope), news))
        working.add_done_callback(lambda _: news.put_nowait(None))
        leaving = asyncio.create_task(_left(receive))
        leaving.add_done_callback(lambda _: working.cancel())
        try:
            await _respond(news, working, scope, receive, send)
        finally:
            working.cancel()
            leaving.cancel()
            await asyncio.wait({working, leaving})

    async def _carry_out(
        self, envelope: Envelope, request: Request, news: asyncio.Queue[bytes | None]
    ) -> Mapping[str, Any]:
        count = 0

        async def tell(text: str) -> None:
            nonlocal count
            if envelope.progress_token is None or news.qsize() >= _MOST_WAITING:
                return
            count += 1
            about = {"progressToken": envelope.progress_token, "progress": count, "message": text}
            method = "notifications/progress"
            news.put_nowait(_event({"jsonrpc": "2.0", "method": method, "params": about}))

        try:
            result = await self._method(envelope, request, tell)
        except RpcError as error:
            return _refusal(envelope.id, error)
        except A2AError as refused:
            return _refusal(envelope.id, RpcError(_INTERNAL_ERROR, refused.message))
        except Exception as failure:  # its text may be confidential
            error_id = log_failure(f"the request {envelope.method:.50} failed", failure)
            refusal = RpcError(_INTERNAL_ERROR, f"The request failed. Error id: {error_id}")
            return _refusal(envelope.id, refusal)
        return {"jsonrpc": "2.0", "id": envelope.id, "result": result}


async def _respond(
    news: asyncio.Queue[bytes | None],
    working: asyncio.Task[Mapping[str, Any]],
    scope: Scope,
    receive: Receive,
    send: Send,
) -> None:
    """Send progress and finally the result, unless the client disconnects."""
    first = await _next(news)
    if first is None:
        if not working.cancelled():
            await _json(working.result(), scope, receive, send)
        return
    await send({"type": "http.response.start", "status": 200, "headers": _STREAM})
    while first is not None:
        await send({"type": "http.response.body", "body": first, "more_body": True})
        first = await _next(news)
    if not working.cancelled():
        await send({"type": "http.response.body", "body": _event(working.result())})


async def _next(news: asyncio.Queue[bytes | None]) -> bytes | None:
    """Return the next event, None at the end, or a keep-alive after silence."""
    try:
        return await asyncio.wait_for(news.get(), _QUIET_SECONDS)
    except TimeoutError:
        return b":\r\n\r\n"


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _json(message: Mapping[str, Any], scope: Scope, receive: Receive, send: Send) -> None:
    status = _HTTP_STATUS.get(message["error"]["code"], 200) if "error" in message else 200
    response = Response(one_line(message), status, media_type="application/json")
    await response(scope, receive, send)


def _refusal(found: RequestId | None, error: RpcError) -> Mapping[str, Any]:
    about = {"code": error.code, "message": error.message}
    if error.data is not None:
        about["data"] = error.data
    return {"jsonrpc": "2.0", "id": found, "error": about}


def _event(message: Mapping[str, Any]) -> bytes:
    return b"event: message\r\ndata: %s\r\n\r\n" % one_line(message)
