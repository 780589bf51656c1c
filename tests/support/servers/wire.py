"""JSON-RPC agents without an A2A library, for invalid responses."""

from __future__ import annotations

import functools
import json
from collections.abc import AsyncIterable, Awaitable, Callable
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from a2a.types import (
    Artifact,
    Message,
    Part,
    Role,
    StreamResponse,
    Task,
    TaskArtifactUpdateEvent,
    TaskState,
    TaskStatus,
    TaskStatusUpdateEvent,
)
from google.protobuf.json_format import MessageToDict
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from tests.support.servers.cards import CardBuilder, agent_card, card_route

WORKING = TaskState.TASK_STATE_WORKING
COMPLETED = TaskState.TASK_STATE_COMPLETED


@dataclass(frozen=True)
class Call:
    """A JSON-RPC request."""

    id: str | int | None
    method: str
    params: dict[str, Any]

    @property
    def text(self) -> str:
        """The text of the sent message."""
        return "".join(part.get("text", "") for part in self.params["message"]["parts"])

    @property
    def streams(self) -> bool:
        """Whether the answer is a stream of events."""
        return self.method in {"SendStreamingMessage", "SubscribeToTask"}

    def result(self, value: Any) -> dict[str, Any]:
        """Return a response with the result `value`."""
        return {"jsonrpc": "2.0", "id": self.id, "result": value}

    def error(self, code: int, message: str) -> dict[str, Any]:
        """Return an error response."""
        return {"jsonrpc": "2.0", "id": self.id, "error": {"code": code, "message": message}}


Answer = Callable[[Call], Awaitable[Response]]


def rpc_app(answer: Answer, card: CardBuilder = agent_card) -> ASGIApp:
    """Return an agent that answers JSON-RPC calls with `answer`."""

    async def endpoint(request: Request) -> Response:
        call = await request.json()
        return await answer(Call(call.get("id"), call["method"], call.get("params", {})))

    routes = [card_route(card), Route("/", endpoint, methods=["POST"])]
    return _WithConnection(Starlette(routes=routes))


def answering(answer: Answer) -> Callable[[], ASGIApp]:
    """Turn a handler of calls into a function that builds its agent."""

    @functools.wraps(answer)
    def build() -> ASGIApp:
        return rpc_app(answer)

    return build


def sse(events: AsyncIterable[Any]) -> Response:
    """Return a stream of JSON values as server-sent events."""
    lines = (line(event) async for event in events)
    return StreamingResponse(lines, media_type="text/event-stream")


def line(event: Any) -> str:
    """Return a JSON value as one server-sent event."""
    return f"data: {json.dumps(event)}\n\n"


class Broken(Response):
    """A connection that is closed without a response, or in the middle of one.

    Args:
        events: Events sent before; None sends no response.
        torn: An event of which only half is sent.
    """

    def __init__(self, events: AsyncIterable[Any] | None = None, *, torn: Any = None) -> None:
        self._events = events
        self._torn = torn

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._events is not None:
            await start_stream(send)
            async for event in self._events:
                await send_body(send, line(event))
        if self._torn is not None:
            half = line(self._torn)
            await send_body(send, half[: len(half) // 2])
        scope["extensions"]["connection"].__self__.transport.close()
        await until_disconnect(receive)


async def start_stream(send: Send) -> None:
    """Send the headers of a stream of server-sent events."""
    headers = [(b"content-type", b"text/event-stream")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})


async def send_body(send: Send, text: str) -> None:
    """Send a chunk of the body, not the last one."""
    await send({"type": "http.response.body", "body": text.encode(), "more_body": True})


async def until_disconnect(receive: Receive) -> None:
    """Wait for the client to disconnect."""
    while (await receive())["type"] != "http.disconnect":
        pass


class _WithConnection:
    """Exposes uvicorn's `send` in the scope, because ASGI cannot close a connection."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scope["extensions"] = {"connection": send}
        await self._app(scope, receive, send)


@dataclass(frozen=True)
class TaskEvents:
    """Builds results and events about a task."""

    task_id: str
    context_id: str

    @classmethod
    def answering(cls, call: Call) -> TaskEvents:
        """Return the events of the task in the call, or of a new one."""
        message = call.params.get("message", {})
        return cls(
            call.params.get("id") or message.get("taskId") or uuid4().hex,
            message.get("contextId") or uuid4().hex,
        )

    def task(self, state: TaskState, *texts: str) -> dict[str, Any]:
        """Return the Task with `texts` as the parts of its artifact."""
        parts = [Part(text=text) for text in texts]
        artifacts = [Artifact(artifact_id="answer", parts=parts)] if parts else []
        status = TaskStatus(state=state)
        whole = Task(
            id=self.task_id, context_id=self.context_id, status=status, artifacts=artifacts
        )
        return MessageToDict(StreamResponse(task=whole))

    def status(self, state: TaskState, text: str = "") -> dict[str, Any]:
        """Return a status update."""
        said = _said(text) if text else None
        update = TaskStatusUpdateEvent(
            task_id=self.task_id,
            context_id=self.context_id,
            status=TaskStatus(state=state, message=said),
        )
        return MessageToDict(StreamResponse(status_update=update))

    def chunk(self, text: str, *, append: bool = True) -> dict[str, Any]:
        """Return a chunk of the artifact."""
        update = TaskArtifactUpdateEvent(
            task_id=self.task_id,
            context_id=self.context_id,
            artifact=Artifact(artifact_id="answer", parts=[Part(text=text)]),
            append=append,
        )
        return MessageToDict(StreamResponse(artifact_update=update))


def message(text: str) -> dict[str, Any]:
    """Return a Message as the result of a call or as an event."""
    return MessageToDict(StreamResponse(message=_said(text)))


def _said(text: str) -> Message:
    return Message(message_id=uuid4().hex, role=Role.ROLE_AGENT, parts=[Part(text=text)])
