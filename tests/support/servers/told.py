"""An agent that tells given events, over every binding and version of A2A."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from a2a.server.context import ServerCallContext
from a2a.server.events import Event
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_jsonrpc_routes, create_rest_routes
from a2a.server.tasks import InMemoryTaskStore
from a2a.types import (
    AgentCard,
    Artifact,
    CancelTaskRequest,
    GetTaskRequest,
    Message,
    Part,
    Role,
    SendMessageRequest,
    SubscribeToTaskRequest,
    Task,
    TaskArtifactUpdateEvent,
    TaskState,
    TaskStatus,
    TaskStatusUpdateEvent,
)
from a2a.utils.errors import TaskNotFoundError, UnsupportedOperationError
from starlette.applications import Starlette

from tests.support.servers.cards import agent_card, card_route
from tests.support.servers.sdk import Scripted

BINDINGS = [
    (binding, version) for version in ("1.0", "0.3") for binding in ("JSONRPC", "HTTP+JSON", "GRPC")
]

_IDS = {"task_id": "t", "context_id": "c"}


def said(text: str, message_id: str = "m", **ids: str) -> Message:
    """Return a message of the agent."""
    parts = [Part(text=text)]
    return Message(message_id=message_id, role=Role.ROLE_AGENT, parts=parts, **ids)


def status(state: str, text: str = "") -> TaskStatusUpdateEvent:
    """Return a status update; `state` is the short name, as in `COMPLETED`."""
    return TaskStatusUpdateEvent(**_IDS, status=_status(state, text))


def task(state: str, text: str = "", **artifacts: str) -> Task:
    """Return the task with a status and the texts of its artifacts by id."""
    whole = [Artifact(artifact_id=each, parts=[Part(text=t)]) for each, t in artifacts.items()]
    return Task(id="t", context_id="c", status=_status(state, text), artifacts=whole)


def artifact(text: str, *, append: bool = False) -> TaskArtifactUpdateEvent:
    """Return the artifact `a`, or more of it."""
    whole = Artifact(artifact_id="a", parts=[Part(text=text)])
    return TaskArtifactUpdateEvent(**_IDS, artifact=whole, append=append)


def _status(state: str, text: str) -> TaskStatus:
    message = said(text, f"m {text}", **_IDS) if text else None
    return TaskStatus(state=TaskState.Value(f"TASK_STATE_{state}"), message=message)


OLD = task("INPUT_REQUIRED", "Which city?")
BOOKED = task("COMPLETED", a="booked")
WORKING = status("WORKING")
COMPLETED = status("COMPLETED")

FORMS: dict[str, list[Event]] = {
    "no snapshot": [artifact("booked"), COMPLETED],
    "a snapshot before working": [OLD, WORKING, artifact("booked"), COMPLETED],
    "a snapshot": [OLD, artifact("booked"), COMPLETED],
    "a snapshot and a status message": [OLD, status("COMPLETED", "booked")],
    "a snapshot and chunks": [OLD, artifact("boo"), artifact("ked", append=True), COMPLETED],
    "a snapshot at both ends": [OLD, artifact("booked"), BOOKED],
    "a snapshot and the end": [OLD],
    "a snapshot, an artifact and the end": [OLD, artifact("booked")],
    "a message between updates": [WORKING, said("One moment."), artifact("booked"), COMPLETED],
    "a message after a snapshot": [OLD, said("One moment."), artifact("booked"), COMPLETED],
    "a message of the task first": [
        said("One moment.", task_id="t", context_id="c"),
        artifact("booked"),
        COMPLETED,
    ],
    "a message at the end": [task("WORKING"), said("One moment.")],
    "a corrected artifact": [OLD, artifact("raw"), artifact("booked"), COMPLETED],
    "a shortened artifact": [OLD, artifact("booked in secret"), artifact("booked"), COMPLETED],
}
"""Streams whose answer is that of the task, `booked`."""


class Told(DefaultRequestHandler):
    """Asks "Which city?" in the first message, and answers the task's next one with `events`.

    Args:
        events: The events of the stream.
        then: The task afterwards; None for an agent that does not know GetTask.
    """

    def __init__(self, events: Sequence[Event], then: Task | None = BOOKED) -> None:
        self._events = events
        self._then = then
        self.is_answered = False
        self.cancelled: asyncio.Queue[str] = asyncio.Queue()
        card = agent_card("http://127.0.0.1")
        super().__init__(Scripted(None), InMemoryTaskStore(), card)  # type: ignore[arg-type]

    async def on_message_send_stream(
        self, params: SendMessageRequest, context: ServerCallContext
    ) -> AsyncGenerator[Event]:
        self.is_answered = bool(params.message.task_id)
        for event in self._events if self.is_answered else [OLD]:
            yield event

    async def on_get_task(self, params: GetTaskRequest, context: ServerCallContext) -> Task:
        if self._then is None:
            raise UnsupportedOperationError
        return self._then if self.is_answered else OLD

    async def on_cancel_task(self, params: CancelTaskRequest, context: ServerCallContext) -> Task:
        await self.cancelled.put(params.id)
        return task("CANCELED")

    async def on_subscribe_to_task(
        self, params: SubscribeToTaskRequest, context: ServerCallContext
    ) -> AsyncGenerator[Event]:
        raise TaskNotFoundError
        yield  # makes this an async generator

    @asynccontextmanager
    async def app(self, binding: str, version: str) -> AsyncIterator[Starlette]:
        """Yield the agent's app, whose card has this interface only."""
        async with AsyncExitStack() as stack:
            stack.push_async_callback(self.aclose)
            address = await _grpc_address(self, stack) if binding == "GRPC" else ""

            def card(url: str) -> AgentCard:
                made = agent_card(url, bindings=())
                made.supported_interfaces.add(
                    url=address or url, protocol_binding=binding, protocol_version=version
                )
                return made

            routes = [
                card_route(card),
                *create_jsonrpc_routes(self, "/", enable_v0_3_compat=True),
                *create_rest_routes(self, enable_v0_3_compat=True),
            ]
            yield Starlette(routes=routes)


async def _grpc_address(handler: Told, stack: AsyncExitStack) -> str:
    """Serve a handler over gRPC until the stack is closed, and return the address."""
    # Imported late: environments of some frameworks have no gRPC.
    import grpc.aio
    from a2a.compat.v0_3 import a2a_v0_3_pb2_grpc
    from a2a.compat.v0_3.grpc_handler import CompatGrpcHandler
    from a2a.server.request_handlers.grpc_handler import GrpcHandler
    from a2a.types import a2a_pb2_grpc

    server = grpc.aio.server()
    port = server.add_insecure_port("127.0.0.1:0")
    a2a_pb2_grpc.add_A2AServiceServicer_to_server(GrpcHandler(handler), server)
    a2a_v0_3_pb2_grpc.add_A2AServiceServicer_to_server(CompatGrpcHandler(handler), server)
    await server.start()
    stack.push_async_callback(server.stop, None)
    return f"127.0.0.1:{port}"
