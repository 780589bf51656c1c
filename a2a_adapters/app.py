"""From a target to an ASGI application."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import JSONResponse
from starlette.routing import Route

from a2a_adapters.agents import ServedAgents
from a2a_adapters.errors import MissingExtraError
from a2a_adapters.observability.requests import RequestObserver
from a2a_adapters.options import ServerOptions
from a2a_adapters.security.browsers import BrowserGuard
from a2a_adapters.security.gate import AuthenticationGate
from a2a_adapters.threads import ThreadPool

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping, Sequence

    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp

__all__ = ["build_app"]


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
            an `Adapter`; an a2a-sdk `AgentExecutor`; or a mapping of names to those.
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
            the card is to be signed without a `url`, or no plugin speaks a dialect.
        MissingExtraError: The options ask for gRPC or metrics, which are not installed.
    """
    options = options or ServerOptions()
    agents = ServedAgents(target, name, description, url, options, dialects)

    async def health(_request: Request) -> Response:
        if agents.is_draining:
            return JSONResponse({"status": "draining"}, 503)
        return JSONResponse({"status": "ready"})

    app = Starlette(
        routes=agents.routes(Route("/healthz", health), *_metrics(agents, options)),
        middleware=_middleware(url, options),
        lifespan=_lifespan(agents, options.limits.threads),
    )
    app.state.agents = agents
    return app


def _metrics(agents: ServedAgents, options: ServerOptions) -> list[Route]:
    if not options.metrics:
        return []
    try:
        from a2a_adapters.observability.metrics import MetricsEndpoint  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise MissingExtraError("/metrics", "metrics") from error
    endpoint: ASGIApp = MetricsEndpoint({a.about.name: a.runtime.figures for a in agents})
    if options.authentication is not None:
        endpoint = AuthenticationGate(endpoint, options.authentication)
    return [Route("/metrics", endpoint, methods=["GET"])]


def _middleware(url: str | None, options: ServerOptions) -> list[Middleware]:
    observer = Middleware(RequestObserver)
    if options.authentication is not None:
        return [observer]
    own = urlsplit(url or "").hostname
    guard = Middleware(BrowserGuard, [*options.allowed_hosts, *([own] if own else [])])
    return [observer, guard]


def _lifespan(
    agents: ServedAgents, threads: int
) -> Callable[[Starlette], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncGenerator[None]:
        # Frameworks run blocking code in the loop's default pool, which has a few threads only.
        asyncio.get_running_loop().set_default_executor(ThreadPool(threads))
        await agents.start()
        try:
            yield
        finally:
            await agents.aclose()

    return lifespan
