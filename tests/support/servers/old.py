"""Agents of A2A 0.3: JSON-RPC with `kind` in all objects."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any
from uuid import uuid4

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from tests.support.servers.cards import CARD_PATH, base_url
from tests.support.servers.sdk import pieces
from tests.support.servers.wire import Call, sse


def old_message() -> ASGIApp:
    """Answers with an A2A 0.3 message, also in a stream."""

    def answer(call: Call) -> list[dict[str, Any]]:
        return [_message(f"pong: {call.text}")]

    return _app(answer)


def old_task() -> ASGIApp:
    """Answers with an A2A 0.3 task; its stream has the chunks of one artifact."""

    def answer(call: Call) -> list[dict[str, Any]]:
        cut = pieces(f"pong: {call.text}")
        task = {
            "kind": "task",
            "id": uuid4().hex,
            "contextId": call.params["message"].get("contextId", uuid4().hex),
            "status": {"state": "submitted"},
        }
        working = _status(task, "working", final=False)
        chunks = [_chunk(task, piece, n, len(cut)) for n, piece in enumerate(cut)]
        return [task, working, *chunks, _status(task, "completed", final=True)]

    return _app(answer)


Answer = Callable[[Call], list[dict[str, Any]]]
"""Returns the events of the stream that answers a message."""


def _app(answer: Answer) -> ASGIApp:
    agent = _OldAgent(answer)

    async def card(request: Request) -> Response:
        return JSONResponse(_card(base_url(request)))

    routes = [Route(CARD_PATH, card), Route("/", agent.handle, methods=["POST"])]
    return Starlette(routes=routes)


class _OldAgent:
    """The methods of A2A 0.3 except push notifications."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._tasks: dict[str, dict[str, Any]] = {}

    async def handle(self, request: Request) -> Response:
        body = await request.json()
        call = Call(body["id"], body["method"], body.get("params", {}))
        match call.method:
            case "message/send" | "message/stream" if not _is_message(call.params.get("message")):
                return JSONResponse(call.error(-32602, "Invalid parameters"))
            case "message/send":
                return JSONResponse(call.result(self._remember(self._answer(call))))
            case "message/stream":
                return sse(self._stream(call))
            case "tasks/get" if call.params["id"] in self._tasks:
                return JSONResponse(call.result(self._tasks[call.params["id"]]))
            case "tasks/get" | "tasks/cancel" | "tasks/resubscribe":
                return JSONResponse(call.error(-32001, "Task not found"))
            case _:
                return JSONResponse(call.error(-32601, "Method not found"))

    async def _stream(self, call: Call) -> AsyncIterator[dict[str, Any]]:
        events = self._answer(call)
        self._remember(events)
        for event in events:
            yield call.result(event)

    def _remember(self, events: list[dict[str, Any]]) -> dict[str, Any]:
        """Return the combined events, and store the result if it is a task."""
        first, *updates = events
        if first["kind"] == "message":
            return first
        parts = [part for u in updates if "artifact" in u for part in u["artifact"]["parts"]]
        artifacts = [{"artifactId": "answer", "parts": parts}]
        task = {**first, "status": updates[-1]["status"], "artifacts": artifacts}
        self._tasks[task["id"]] = task
        return task


def _is_message(message: Any) -> bool:
    """Return whether this is a valid 0.3 Message, including its discriminators."""
    return (
        isinstance(message, dict)
        and message.get("kind") == "message"
        and message.get("role") == "user"
        and isinstance(message.get("messageId"), str)
        and all(part.get("kind") in {"text", "file", "data"} for part in message["parts"])
    )


def _message(text: str) -> dict[str, Any]:
    parts = [{"kind": "text", "text": text}]
    return {"kind": "message", "role": "agent", "messageId": uuid4().hex, "parts": parts}


def _status(task: dict[str, Any], state: str, *, final: bool) -> dict[str, Any]:
    return {
        "kind": "status-update",
        "taskId": task["id"],
        "contextId": task["contextId"],
        "status": {"state": state},
        "final": final,
    }


def _chunk(task: dict[str, Any], text: str, index: int, count: int) -> dict[str, Any]:
    return {
        "kind": "artifact-update",
        "taskId": task["id"],
        "contextId": task["contextId"],
        "artifact": {"artifactId": "answer", "parts": [{"kind": "text", "text": text}]},
        "append": index > 0,
        "lastChunk": index == count - 1,
    }


def _card(url: str) -> dict[str, Any]:
    return {
        "name": "Old pong",
        "description": "Answers ping with pong, as of A2A 0.3.",
        "version": "1.0.0",
        "protocolVersion": "0.3.0",
        "url": f"{url}/",
        "preferredTransport": "JSONRPC",
        "capabilities": {"streaming": True},
        "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["text/plain"],
        "skills": [{"id": "pong", "name": "Pong", "description": "Says pong.", "tags": ["ping"]}],
    }
