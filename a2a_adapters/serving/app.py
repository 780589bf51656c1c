"""From a target to an ASGI application."""

from __future__ import annotations

import asyncio
import logging
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import JSONResponse
from starlette.routing import Mount, Route

from a2a_adapters.concurrency.outliving import outliving_calls
from a2a_adapters.concurrency.threads import use_threads
from a2a_adapters.contract.errors import MissingExtraError
from a2a_adapters.observability.loop import watched_loop
from a2a_adapters.security.browsers import BrowserGuard
from a2a_adapters.security.gate import AuthenticationGate
from a2a_adapters.security.refusals import Refusal, refuse
from a2a_adapters.serving.agents import ServedAgents
from a2a_adapters.serving.card import check_public
from a2a_adapters.serving.entrance import Entrance
from a2a_adapters.serving.garbage import give_back_memory, settled
from a2a_adapters.serving.opening import is_closed, opened
from a2a_adapters.serving.options import ServerOptions

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping, Sequence

    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute
    from starlette.types import ASGIApp, Receive, Scope, Send

__all__ = ["build_app"]

_EXPOSED_HEADERS = ("A2A-Extensions", "X-A2A-Extensions", "ETag", "Retry-After", "WWW-Authenticate")
"""What a page may read of an answer, beside what every page may (Fetch, CORS-safelisted)."""

_NOT_STARTED = Refusal(503, "UNAVAILABLE", "the agent has not been started")

logger = logging.getLogger(__name__)


def build_app(
    target: object | Mapping[str, object],
    *,
    name: str | None = None,
    description: str | None = None,
    url: str | None = None,
    options: ServerOptions | None = None,
    dialects: Sequence[object] = (),
) -> Starlette:
    """Return an ASGI application that serves `target` as an A2A agent.

    Several targets by name become several agents: each answers under `/agents/<name>/`, and
    `/agents` lists them. They share nothing but the server's threads.

    Args:
        target: A LangChain runnable, a LangGraph graph, a function, anything a plugin knows;
            an `Adapter`; an a2a-sdk `AgentExecutor`; an async function or async context manager
            that makes one of them, which is opened in the server's event loop when it starts and
            closed when it stops; or a mapping of names to those.
        name: The agent's name in its card, in place of the target's own.
        description: What the card says the agent does.
        url: The public address in the card; by default the one a client used.
        options: Authentication, limits, storage and the like.
        dialects: Dialects of A2A to speak as well, by the names their plugins give them, or as
            the plugins' own objects.

    Raises:
        NoAdapterError: No plugin can serve the target.
        TargetError: A plugin knows its type, but cannot serve this object.
        ConfigurationError: A name cannot be part of an address, there are several for gRPC,
            the `url` is none, the card is to be signed without one, or no plugin speaks a dialect.
        MissingExtraError: The options ask for gRPC or metrics, which are not installed.
    """
    options = options or ServerOptions()
    if url:
        check_public(url)
    calls: dict[str, ASGIApp] = {}

    def made(ready: object) -> tuple[ServedAgents, list[BaseRoute]]:
        agents = ServedAgents(ready, name, description, url, options, dialects)
        routes = agents.routes(
            Route("/healthz", _health),
            Route("/livez", _alive),
            *_metrics(agents, options),
        )
        return agents, routes

    def let_in(app: Starlette, agents: ServedAgents, routes: list[BaseRoute]) -> None:
        app.state.agents = agents
        app.router.routes = routes
        if not options.cors_origins:  # which are answered between the entrance and the routes
            calls.update(agents.calls())

    at_once = None if is_closed(target) else made(target)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncGenerator[None]:
        use_threads(options.limits.threads)
        async with opened(target, keep_going=options.keep_going) as ready:
            agents, routes = at_once or made(ready)
            let_in(app, agents, routes)
            await agents.start()
            trimming = asyncio.create_task(give_back_memory())
            try:
                with settled(), watched_loop():
                    yield
            finally:
                trimming.cancel()
                await agents.aclose()

    app = Starlette(middleware=_middleware(url, options, calls), lifespan=lifespan)
    if at_once and at_once[0].storage.is_ready:
        let_in(app, *at_once)
    else:
        app.router.routes = [Mount("", _NotStarted())]
    return app


class _NotStarted:
    """Answers in the place of what has to be started first (ASGI)."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        logger.error("nothing is served yet: the lifespan of build_app's application was not begun")
        await refuse(_NOT_STARTED, scope, receive, send)


async def _health(request: Request) -> Response:
    if request.app.state.agents.is_draining:
        return JSONResponse({"status": "draining"}, 503)
    if away := request.app.state.agents.storage.away:
        return JSONResponse({"status": f"{away} away"}, 503)
    return JSONResponse({"status": "ready"})


async def _alive(_request: Request) -> Response:
    """Answer as long as the event loop does; `_health` tells whether requests should come here."""
    return JSONResponse({"status": "alive"})


def _metrics(agents: ServedAgents, options: ServerOptions) -> list[Route]:
    if not options.metrics:
        return []
    try:
        from a2a_adapters.observability.metrics import MetricsEndpoint  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise MissingExtraError("/metrics", "metrics") from error
    figures = {a.address.name or a.about.name: a.runtime.figures for a in agents}
    workers = None if isinstance(options.metrics, bool) else options.metrics
    endpoint: ASGIApp = MetricsEndpoint(figures, outliving_calls, agents.storage.figures, workers)
    if options.authentication is not None:
        endpoint = AuthenticationGate(endpoint, options.authentication)
    return [Route("/metrics", endpoint, methods=["GET"])]


def _middleware(
    url: str | None, options: ServerOptions, calls: Mapping[str, ASGIApp]
) -> list[Middleware]:
    browsers = None
    if options.authentication is None:
        own = urlsplit(url or "").hostname
        hosts = [*options.allowed_hosts, *([own] if own else [])]
        browsers = BrowserGuard(hosts, options.cors_origins)
    entrance = Middleware(Entrance, options.limits.header_bytes, browsers, calls)
    return [entrance, _cors(options.cors_origins)] if options.cors_origins else [entrance]


def _cors(origins: Sequence[str]) -> Middleware:
    return Middleware(
        CORSMiddleware,
        allow_origins=origins,
        allow_methods=["GET", "POST", "DELETE"],
        allow_headers=["*"],
        expose_headers=_EXPOSED_HEADERS,
    )
