"""The server behind `a2a-adapters console URL`, which relays the page's requests to agents."""

from __future__ import annotations

import logging
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING

import httpx
import uvicorn
from a2a.server.request_handlers.response_helpers import agent_card_to_dict
from a2a.server.routes.jsonrpc_routes import create_jsonrpc_routes
from a2a.utils.errors import A2AError
from pydantic_core import to_json
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import RedirectResponse, Response
from starlette.routing import Mount, Route

from a2a_adapters.calling.auth import Trust
from a2a_adapters.calling.card import agent_url
from a2a_adapters.calling.connection import Connections
from a2a_adapters.calling.options import RemoteOptions
from a2a_adapters.contract.limits import Limits
from a2a_adapters.net.addresses import listen
from a2a_adapters.observability.logs import log_process
from a2a_adapters.protocol.card import WELL_KNOWN_PATHS
from a2a_adapters.protocol.errors import http_error, mapping
from a2a_adapters.security.body import Bodies, BodyLimit
from a2a_adapters.security.headers import BrowserGuard
from a2a_adapters.serving.entrance import Entrance
from a2a_adapters.serving.http import http_protocol
from a2a_adapters_console.findings import typed_headers
from a2a_adapters_console.pages import CONSOLE_PATH, ConsoleAgent, console_routes
from a2a_adapters_console.relay_handler import RelayHandler

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncGenerator, Mapping, Sequence

    from starlette.requests import Request
    from starlette.routing import BaseRoute
    from starlette.types import ASGIApp, Receive, Scope, Send

__all__ = ["RelayedAgent", "build_relay", "run"]

logger = logging.getLogger("uvicorn.error")

_CLOSING_SECONDS = 1

_typed: ContextVar[Mapping[str, str]] = ContextVar("typed")


@dataclass(frozen=True, slots=True)
class RelayedAgent:
    """A remote agent.

    Attributes:
        name: Display name.
        url: URL of the agent or of its card.
        named_by: URL of the catalog that listed it, if any: on other hosts
            it receives none of the headers.
    """

    name: str
    url: str
    named_by: str = ""


def build_relay(
    agents: Sequence[RelayedAgent],
    *,
    headers: Mapping[str, str] | None = None,
    timeout: float = 900,
    tls: ssl.SSLContext | None = None,
) -> Starlette:
    """Return an ASGI application with the console for the given remote agents.

    It is for local use: other servers' pages cannot access it, and credentials are sent only
    to the agents' own URLs.

    Args:
        agents: The agents to list.
        headers: Headers for each agent, in addition to those typed by the user.
        timeout: Time limit for an answer in seconds.
        tls: The TLS settings for calls; by default certificates are verified as httpx does.

    Raises:
        ConfigurationError: A URL is invalid.
    """
    options = RemoteOptions(timeout=timeout, tls=tls)
    handlers, routes, listed = [], [], []
    for number, agent in enumerate(agents, 1):
        url = agent_url(agent.url)
        origin = agent_url(agent.named_by) if agent.named_by else url
        own = headers if headers and Trust(origin, ()).gets_credentials(url) else {}
        handler = RelayHandler(Connections(url, None, _TypedAuth(own), options, origin))
        handlers.append(handler)
        path = f"/agents/{number}"
        routes.append(Mount(path, routes=_routes(handler)))
        listed.append(ConsoleAgent(agent.name, f"{path}/", str(url), own, tls))

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncGenerator[None]:
        yield
        for handler in handlers:
            await handler.aclose()

    limits = Limits()
    guards = [
        Middleware(Entrance, limits.header_bytes, BrowserGuard([]), {}, True),
        Middleware(BodyLimit, Bodies(limits)),
    ]
    console = console_routes(listed)
    pages = [Route("/", _to_console), *console.cards, *console.calls]
    return Starlette(routes=[*pages, *routes], middleware=guards, lifespan=lifespan)


def run(app: Starlette, host: str, port: int) -> None:
    """Serve the relay until interrupted.

    Raises:
        ListenError: The port is in use, or the host is not an address of this machine.
    """
    log_process("text")
    sockets = listen(host, port)
    config = uvicorn.Config(
        app,
        http=http_protocol(Limits()),
        ws="none",
        log_config=None,
        access_log=False,
        # Streams of tasks may be endless.
        timeout_graceful_shutdown=_CLOSING_SECONDS,
    )
    at, real_port = sockets[0].getsockname()[:2]
    logger.info(
        "console at http://%s:%s%s", f"[{at}]" if ":" in at else at, real_port, CONSOLE_PATH
    )
    with suppress(KeyboardInterrupt):  # uvicorn raises it again after stopping
        uvicorn.Server(config).run(sockets)


class _TypedAuth(httpx.Auth):
    """Adds the headers typed by the user to requests to the agent, for one call."""

    def __init__(self, always: Mapping[str, str]) -> None:
        self._always = always

    async def async_auth_flow(
        self, request: httpx.Request
    ) -> AsyncGenerator[httpx.Request, httpx.Response]:
        """Add the headers."""
        request.headers.update({**self._always, **_typed.get({})})
        yield request


class _Typed:
    """ASGI middleware that passes headers typed by the user to a call's connections."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        _typed.set(typed_headers(scope))
        await self._app(scope, receive, send)


def _routes(handler: RelayHandler) -> list[BaseRoute]:
    async def card(_request: Request) -> Response:
        try:
            content = agent_card_to_dict(await handler.card())
        except A2AError as error:
            status = mapping(error).http_code
            return Response(to_json(http_error(error)), status, media_type="application/json")
        return Response(to_json(content), media_type="application/json")

    calls = create_jsonrpc_routes(handler, "/")
    routes = [Route(WELL_KNOWN_PATHS[0], card), *calls]
    return [Mount("", routes=routes, middleware=[Middleware(_Typed)])]


async def _to_console(_request: Request) -> Response:
    return RedirectResponse(f"{CONSOLE_PATH}/", 307)
