"""Runs an app in the test's process, and calls it with the official client."""

from __future__ import annotations

import asyncio
import math
from contextlib import asynccontextmanager, suppress
from functools import cache
from typing import TYPE_CHECKING
from uuid import uuid4

import httpx
import uvicorn
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.types import GetTaskRequest, Message, Part, Role, SendMessageRequest, StreamResponse, Task
from starlette.authentication import AuthCredentials, AuthenticationBackend, SimpleUser
from starlette.middleware.authentication import AuthenticationMiddleware

from a2a_adapters.concurrency import blocking
from a2a_adapters.contract.limits import Limits
from a2a_adapters.serving.http import http_protocol

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from a2a.client import Client
    from grpc.aio import Channel
    from starlette.requests import HTTPConnection
    from starlette.types import ASGIApp

_USER_HEADER = "x-test-user"
_CLOSING_SECONDS = 1.0
_POLL_SECONDS = 0.005
_TURNS = 4
"""Maximum number of event loop iterations for opening or closing a connection."""


class _TestUsers(AuthenticationBackend):
    async def authenticate(self, conn: HTTPConnection) -> tuple[AuthCredentials, SimpleUser] | None:
        name = conn.headers.get(_USER_HEADER)
        return (AuthCredentials(), SimpleUser(name)) if name else None


def as_user(name: str) -> dict[str, str]:
    """Return headers that authenticate a request to `running` as the named user."""
    return {_USER_HEADER: name}


@asynccontextmanager
async def running(app: ASGIApp, limits: Limits | None = None) -> AsyncGenerator[str]:
    """Serve an app on a free local port in this event loop, and yield its address.

    Args:
        app: The app.
        limits: The limits on connections.
    """
    limits = limits or Limits()
    _log_warnings()
    config = uvicorn.Config(
        AuthenticationMiddleware(app, backend=_TestUsers()),
        port=0,
        http=http_protocol(limits),
        log_config=None,
        ws="none",
        proxy_headers=False,
        # With uvicorn's 5 s, which httpx has too, a busy client would use a closing connection.
        timeout_keep_alive=math.ceil(limits.keep_alive_seconds),
    )
    server = uvicorn.Server(config)
    config.load()
    server.lifespan = config.lifespan_class(config)
    await server.startup()
    try:
        await server.on_tick(0)  # sets the date of the answers
        host, port = server.servers[0].sockets[0].getsockname()[:2]
        with blocking.answering_at([(host, port)]):
            yield f"http://{host}:{port}"
    finally:
        await _close(server)


@cache
def _log_warnings() -> None:
    """Let uvicorn log warnings only; to configure that for each server would take milliseconds."""
    uvicorn.Config("", log_level="warning")


async def _close(server: uvicorn.Server) -> None:
    """Do what `Server.shutdown` does, which polls only ten times a second."""
    state = server.server_state
    await _stop_listening(server)
    with suppress(TimeoutError):
        async with asyncio.timeout(_CLOSING_SECONDS):
            is_open = True
            while is_open:
                for connection in list(state.connections):
                    connection.shutdown()
                await asyncio.sleep(_POLL_SECONDS)
                await _turns()
                is_open = bool(state.connections or state.tasks)
    for task in state.tasks:
        task.cancel()
    await server.lifespan.shutdown()
    for connection in list(state.connections):
        connection.transport.abort()
    await _turns()


async def _stop_listening(server: uvicorn.Server) -> None:
    """Close the listeners after all accepted connections have been set up.

    asyncio would not close the others, and an assertion would fail in those of a closed server.
    """
    loop = asyncio.get_running_loop()
    for listener in server.servers:
        for socket in listener.sockets:
            with suppress(NotImplementedError):  # on Windows, whose loop has no readers
                loop.remove_reader(socket.fileno())
    await _turns()
    for listener in server.servers:
        listener.close()


async def _turns() -> None:
    """Let connections finish opening or closing."""
    for _ in range(_TURNS):
        await asyncio.sleep(0)


@asynccontextmanager
async def connect(
    url: str, *, binding: str = "JSONRPC", user: str = "", extensions: tuple[str, ...] = ()
) -> AsyncGenerator[Client]:
    """Yield an official client for the agent at `url`."""
    headers = as_user(user) if user else {}
    if extensions:
        headers["A2A-Extensions"] = ", ".join(extensions)
    # Servers close connections after five idle seconds, which may pass on a busy machine.
    limits = httpx.Limits(max_keepalive_connections=0)
    async with httpx.AsyncClient(headers=headers, timeout=60, limits=limits) as http:
        card = await A2ACardResolver(http, url).get_agent_card()
        config = ClientConfig(
            httpx_client=http,
            supported_protocol_bindings=[binding],
            grpc_channel_factory=_channel if binding == "GRPC" else None,
        )
        async with ClientFactory(config).create(card) as client:
            yield client


def _channel(url: str) -> Channel:
    from grpc.aio import insecure_channel  # noqa: PLC0415 - an extra

    return insecure_channel(url.removeprefix("http://"))


def user_message(
    text: str = "", *parts: Part, task_id: str = "", context_id: str = ""
) -> SendMessageRequest:
    """Create a request that sends `text` and `parts`."""
    message = Message(
        message_id=uuid4().hex,
        role=Role.ROLE_USER,
        parts=[*([Part(text=text)] if text else []), *parts],
        task_id=task_id,
        context_id=context_id,
    )
    return SendMessageRequest(message=message)


def answer_of(task: Task) -> str:
    """Return the text of all artifacts, one line per non-empty part."""
    return "\n".join(p.text for a in task.artifacts for p in a.parts if p.text)


async def stream(client: Client, request: SendMessageRequest) -> list[StreamResponse]:
    """Send a message and return the events of its stream."""
    return [event async for event in client.send_message(request)]


async def send(client: Client, request: SendMessageRequest) -> Task:
    """Send a message, read its stream to the end, and return the final task."""
    events = await stream(client, request)
    task_id = request.message.task_id or events[0].task.id
    return await client.get_task(GetTaskRequest(id=task_id))
