"""Streamable HTTP: the tools at `/mcp`, next to the agents' routes."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

import anyio
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http import MCP_SESSION_ID_HEADER
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.version import SUPPORTED_PROTOCOL_VERSIONS
from mcp.types import INTERNAL_ERROR, PARSE_ERROR
from pydantic_core import from_json
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from a2a_adapters.dialects import DialectRoutes, share_of_caller
from a2a_adapters_mcp.offering.server import ToolServer
from a2a_adapters_mcp.offering.sessions import CallerSessions, Session, TooManySessionsError
from a2a_adapters_mcp.offering.stateless.endpoint import StatelessEndpoint
from a2a_adapters_mcp.offering.stateless.envelope import is_stateless
from a2a_adapters_mcp.offering.stateless.methods import Methods
from a2a_adapters_mcp.offering.tools import agent_tools

if TYPE_CHECKING:
    from a2a.server.context import ServerCallContext
    from starlette.types import Message, Receive, Scope, Send

    from a2a_adapters.dialects import DialectServer
    from a2a_adapters_mcp.offering.offer import McpTools

PATH = "/mcp"

_SCOPE = "a2a_adapters_mcp.scope"


def _error(code: int, message: str) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": message}}


_NOT_JSON = _error(PARSE_ERROR, "Parse error")
_STOPPING = _error(INTERNAL_ERROR, "The server is stopping")
_WITH_SESSIONS = set(SUPPORTED_PROTOCOL_VERSIONS)
_FAILED = 400
_RETRY_SECONDS = "60"
_UNLIMITED_BYTES = 2**62  # bodies are limited earlier


class _Leaving(logging.Filter):
    """Drops the SDK's error log entry for every client that ends its session."""

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        return not isinstance(error, anyio.ClosedResourceError)


_leaving = _Leaving()


def mcp_routes(server: DialectServer, offer: McpTools) -> DialectRoutes:
    """Return the route for the served agents."""

    def caller(request: Request) -> ServerCallContext:
        return server.caller(Request(request.scope[_SCOPE]))

    tools = agent_tools(server.agents, offer.by)
    sessions = CallerSessions(offer.sessions, offer.sessions_per_caller)
    methods = Methods(tools, server.agents, server.caller, offer.task_after_seconds)
    endpoint = Endpoint(
        ToolServer(tools, caller, sessions.lifespan),
        StatelessEndpoint(methods.carry_out),
        offer,
        sessions,
    )
    logging.getLogger("mcp.server.streamable_http").addFilter(_leaving)
    return DialectRoutes(
        calls=[Route(PATH, endpoint, methods=["GET", "POST", "DELETE"])], aclose=endpoint.aclose
    )


class Endpoint:
    """ASGI app that answers clients; a session is limited to the caller that opened it.

    Args:
        tools: The tools.
        stateless: Answers clients without sessions.
        offer: The user's settings.
        callers: Tracks and limits the sessions.
    """

    def __init__(
        self,
        tools: ToolServer,
        stateless: StatelessEndpoint,
        offer: McpTools,
        callers: CallerSessions,
    ) -> None:
        self._stateless = stateless
        self._callers = callers
        self._sessions = StreamableHTTPSessionManager(
            tools.server,
            session_idle_timeout=offer.idle_seconds,
            max_sessions=None,  # limited here
            max_request_body_size=_UNLIMITED_BYTES,
        )
        self._running: asyncio.Task[None] | None = None
        self._ready = asyncio.Event()
        self._ending = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request (ASGI)."""
        if self._ending.is_set():
            await JSONResponse(_STOPPING, 503)(scope, receive, send)
            return
        if scope["method"] == "POST":
            body = await Request(scope, receive).body()
            try:
                value = from_json(body, allow_inf_nan=False)
            except ValueError:  # the SDK reports some of these as internal errors
                await JSONResponse(_NOT_JSON, 400)(scope, receive, send)
                return
            if is_stateless(Headers(scope=scope), value, _WITH_SESSIONS):
                await self._stateless.answer(value, scope, receive, send)
                return
            receive = _again(body, receive)
        if self._running is None:
            self._running = asyncio.create_task(self._run())
        await self._ready.wait()
        if session_id := Headers(scope=scope).get(MCP_SESSION_ID_HEADER):
            with self._callers.using(session_id):
                await self._sessions.handle_request(_as_owner(scope), receive, send)
        else:
            await self._open(scope, receive, send)

    async def _open(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request that opens a session, closing another session if necessary."""
        share = share_of_caller(scope)
        try:
            while (idle := self._callers.in_the_way(share)) is not None:
                await self._close(idle)
        except TooManySessionsError as error:
            refusal = _error(INTERNAL_ERROR, str(error))
            await JSONResponse(refusal, 429, {"Retry-After": _RETRY_SECONDS})(scope, receive, send)
            return
        session = Session(share, scope.get("user"))

        async def named(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] < _FAILED:
                headers = Headers(raw=message["headers"])
                self._callers.name(session, headers.get(MCP_SESSION_ID_HEADER, ""))
            await send(message)

        with self._callers.opening(session):
            await self._sessions.handle_request(_as_owner(scope), receive, named)

    async def _close(self, session: Session) -> None:
        """Close a session as its client would."""
        self._callers.forget(session)
        header = (MCP_SESSION_ID_HEADER.encode(), session.id.encode())
        about = {"type": "http", "method": "DELETE", "path": PATH, "headers": [header]}
        scope: Scope = {**about, "user": session.user}
        await self._sessions.handle_request(_as_owner(scope), _nothing, _unheard)

    async def aclose(self) -> None:
        """Close all sessions and cancel their calls."""
        self._ending.set()
        if self._running is not None:
            await self._running

    async def _run(self) -> None:
        # anyio requires opening and closing in one task, which requests cannot provide.
        async with self._sessions.run():
            self._ready.set()
            await self._ending.wait()


async def _nothing() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _unheard(_message: Message) -> None:
    """Discard a response."""


def _again(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that replays a body."""
    left: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def received() -> Message:
        return left.pop() if left else await receive()

    return received


def _as_owner(scope: Scope) -> Scope:
    """Return the scope with the owner that binds a session to its caller."""
    user = scope.get("user")
    owner = user.display_name if user is not None else ""
    token = AccessToken(token="", client_id=owner, scopes=[])
    return {**scope, _SCOPE: scope, "user": AuthenticatedUser(token)}
