"""JSON-RPC agents without any A2A library, for what a proper server would not send."""

from __future__ import annotations

import json
from collections.abc import AsyncIterable, Awaitable, Callable
from dataclasses import dataclass
from typing import Any

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

from tests.remote.servers.cards import CardBuilder, agent_card, card_route

TASK_ID = "task-1"
CONTEXT_ID = "context-1"
WORKING = TaskState.TASK_STATE_WORKING
COMPLETED = TaskState.TASK_STATE_COMPLETED


@dataclass(frozen=True)
class Call:
    """One JSON-RPC request."""

    id: str | int | None
    method: str
    params: dict[str, Any]

    @property
    def text(self) -> str:
        """The text of the message that is sent."""
        return "".join(part.get("text", "") for part in self.params["message"]["parts"])

    @property
    def streams(self) -> bool:
        """Whether the answer is a stream of events."""
        return self.method in {"SendStreamingMessage", "SubscribeToTask"}

    def result(self, value: Any) -> dict[str, Any]:
        """Return the response that holds `value`."""
        return {"jsonrpc": "2.0", "id": self.id, "result": value}

    def error(self, code: int, message: str) -> dict[str, Any]:
        """Return the response that holds an error."""
        return {"jsonrpc": "2.0", "id": self.id, "error": {"code": code, "message": message}}


Answer = Callable[[Call], Awaitable[Response]]


def rpc_app(answer: Answer, card: CardBuilder = agent_card) -> ASGIApp:
    """Return an agent that answers each JSON-RPC call with the response that `answer` gives."""

    async def endpoint(request: Request) -> Response:
        call = await request.json()
        return await answer(Call(call.get("id"), call["method"], call.get("params", {})))

    routes = [card_route(card), Route("/", endpoint, methods=["POST"])]
    return _WithTransport(Starlette(routes=routes))


def sse(events: AsyncIterable[Any]) -> Response:
    """Return a stream of JSON values as server-sent events."""

    async def lines():
        async for event in events:
            yield f"data: {json.dumps(event)}\n\n"

    return StreamingResponse(lines(), media_type="text/event-stream")


class Broken(Response):
    """A stream whose connection is closed without its end, or a response that never starts."""

    def __init__(self, events: AsyncIterable[Any] | None = None) -> None:
        self._events = events

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._events is not None:
            await start_stream(send)
            async for event in self._events:
                body = f"data: {json.dumps(event)}\n\n".encode()
                await send({"type": "http.response.body", "body": body, "more_body": True})
        scope["extensions"]["connection"].__self__.transport.close()
        await until_disconnect(receive)


async def start_stream(send: Send) -> None:
    """Send the head of a stream of server-sent events."""
    headers = [(b"content-type", b"text/event-stream")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})


async def until_disconnect(receive: Receive) -> None:
    """Wait for the client to go away."""
    while (await receive())["type"] != "http.disconnect":
        pass


class _WithTransport:
    """Puts uvicorn's own `send` into the scope: ASGI cannot close a connection, its owner can."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scope["extensions"] = {"connection": send}
        await self._app(scope, receive, send)


def message(text: str) -> dict[str, Any]:
    """Return a Message as the result of a call or as an event."""
    said = Message(message_id="answer-1", role=Role.ROLE_AGENT, parts=[Part(text=text)])
    return MessageToDict(StreamResponse(message=said))


def task(state: TaskState, *texts: str, task_id: str = TASK_ID) -> dict[str, Any]:
    """Return a Task as the result of a call or as an event, `texts` the parts of its artifact."""
    parts = [Part(text=text) for text in texts]
    whole = Task(
        id=task_id,
        context_id=CONTEXT_ID,
        status=TaskStatus(state=state),
        artifacts=[Artifact(artifact_id="answer", parts=parts)] if parts else [],
    )
    return MessageToDict(StreamResponse(task=whole))


def status(state: TaskState, text: str = "", task_id: str = TASK_ID) -> dict[str, Any]:
    """Return a change of status as an event."""
    update = TaskStatusUpdateEvent(
        task_id=task_id, context_id=CONTEXT_ID, status=TaskStatus(state=state)
    )
    if text:
        said = Message(message_id="status", role=Role.ROLE_AGENT, parts=[Part(text=text)])
        update.status.message.CopyFrom(said)
    return MessageToDict(StreamResponse(status_update=update))


def chunk(text: str, *, append: bool, last: bool = False, task_id: str = TASK_ID) -> dict[str, Any]:
    """Return a piece of the one artifact as an event."""
    update = TaskArtifactUpdateEvent(
        task_id=task_id,
        context_id=CONTEXT_ID,
        artifact=Artifact(artifact_id="answer", parts=[Part(text=text)]),
        append=append,
        last_chunk=last,
    )
    return MessageToDict(StreamResponse(artifact_update=update))
