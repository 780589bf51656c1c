"""Agents that send malformed responses or errors."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import (
    HTMLResponse,
    JSONResponse,
    RedirectResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Route
from starlette.types import ASGIApp

from tests.support.servers.cards import CARD_PATH
from tests.support.servers.wire import COMPLETED, WORKING, Call, TaskEvents, line, message, rpc_app

ERROR_CODES = (
    *(-32700, -32600, -32601, -32602, -32603),
    *(-32001, -32002, -32003, -32004, -32005, -32006, -32007, -32008, -32009),
    *(-32099, 1, 0),
)
"""Codes of JSON-RPC and A2A 1.0, and a few unknown ones."""

HTML = "<html><body><h1>Oops</h1><script>alert(1)</script></body></html>"


def rpc_error(code: int = -32603, text: str = "It is broken") -> ASGIApp:
    """Answers every call, streaming or not, with a JSON-RPC error."""
    return _always(lambda call: JSONResponse(call.error(code, text)))


def http_error(status: int = 500) -> ASGIApp:
    """Answers every call with an HTTP status and an HTML page."""
    return _always(lambda call: HTMLResponse(HTML, status))


def redirecting(target: str) -> ASGIApp:
    """Redirects every call to another address."""
    return _always(lambda call: RedirectResponse(target))


def not_json() -> ASGIApp:
    """Answers with HTML declared as JSON."""
    return _body(HTML)


def cut_json() -> ASGIApp:
    """Answers with truncated JSON."""
    return _body('{"jsonrpc": "2.0", "id": 1, "result": {"mess')


def not_rpc() -> ASGIApp:
    """Answers with JSON that is not a JSON-RPC response."""
    return _body('["pong: ping"]')


def no_result() -> ASGIApp:
    """Answers with a response that has neither a result nor an error."""
    return _always(lambda call: JSONResponse({"jsonrpc": "2.0", "id": call.id}))


def unknown_result() -> ASGIApp:
    """Answers with a result that is neither a task nor a message."""
    return _always(lambda call: JSONResponse(call.result({"answer": "pong: ping"})))


def wrong_types() -> ASGIApp:
    """Answers with a task whose fields have the wrong types."""
    task = {"id": 7, "status": "completed", "artifacts": {"parts": "pong: ping"}}
    return _always(lambda call: JSONResponse(call.result({"task": task})))


def wrong_rpc_id() -> ASGIApp:
    """Answers with the id of another call."""
    response = {"jsonrpc": "2.0", "id": "of-another-call", "result": message("pong: ping")}
    return _always(lambda call: JSONResponse(response))


def empty_stream() -> ASGIApp:
    """Answers with a stream that ends without an event."""
    return _stream(lambda call, task_events: [])


def not_json_in_stream() -> ASGIApp:
    """Streams a Task, followed by invalid JSON."""
    return _stream(
        lambda call, task_events: [line(call.result(task_events.task(WORKING))), "data: <oops>\n\n"]
    )


def error_in_stream(code: int = -32603, text: str = "It broke") -> ASGIApp:
    """Streams a Task and a chunk, followed by a JSON-RPC error."""
    return _stream(
        lambda call, task_events: [
            line(call.result(task_events.task(WORKING))),
            line(call.result(task_events.chunk("pong", append=False))),
            "event: error\n" + line(call.error(code, text)),
        ]
    )


def stranger_in_stream() -> ASGIApp:
    """Answers `pong: ping` in a stream with a chunk of a foreign task."""
    stranger = TaskEvents("somebody-else", "elsewhere")
    return _stream(
        lambda call, task_events: [
            line(call.result(task_events.task(WORKING))),
            line(call.result(task_events.chunk(f"pong: {call.text}", append=False))),
            line(call.result(stranger.chunk("not for you", append=False))),
            line(call.result(task_events.status(COMPLETED))),
        ]
    )


def json_for_stream() -> ASGIApp:
    """Answers a streaming call with a JSON response: the completed Task."""
    return _always(
        lambda call: JSONResponse(
            call.result(TaskEvents.answering(call).task(COMPLETED, f"pong: {call.text}"))
        )
    )


def bad_card(body: str = HTML, status: int = 200) -> ASGIApp:
    """Serves a text as its card, with an HTTP status."""

    async def card(request: Request) -> Response:
        return Response(body, status, media_type="application/json")

    return Starlette(routes=[Route(CARD_PATH, card)])


MALFORMED: dict[str, Callable[[], ASGIApp]] = {
    each.__name__: each
    for each in (
        rpc_error,
        http_error,
        not_json,
        cut_json,
        not_rpc,
        no_result,
        unknown_result,
        wrong_types,
        wrong_rpc_id,
        empty_stream,
        not_json_in_stream,
        error_in_stream,
    )
}
"""Agents that answer a streaming call with an error.

Those that stream do so for every call; the others never do.
"""


def _always(respond: Callable[[Call], Response]) -> ASGIApp:
    async def answer(call: Call) -> Response:
        return respond(call)

    return rpc_app(answer)


def _body(body: str) -> ASGIApp:
    return _always(lambda call: Response(body, media_type="application/json"))


def _stream(events: Callable[[Call, TaskEvents], list[str]]) -> ASGIApp:
    async def lines(call: Call) -> AsyncIterator[str]:
        for event in events(call, TaskEvents.answering(call)):
            yield event

    return _always(lambda call: StreamingResponse(lines(call), media_type="text/event-stream"))
