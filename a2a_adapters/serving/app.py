"""Builds an ASGI application from a target."""

from __future__ import annotations

import asyncio
import logging
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import Router

from a2a_adapters.concurrency.threads import use_threads
from a2a_adapters.contract.card import Card
from a2a_adapters.contract.checking import check_arguments, checked_options
from a2a_adapters.contract.errors import ConfigurationError
from a2a_adapters.observability.loop import watched_loop
from a2a_adapters.security.headers import BrowserGuard
from a2a_adapters.security.refusals import Refusal, refuse
from a2a_adapters.serving.agents import ServedAgents
from a2a_adapters.serving.discovery import check_public
from a2a_adapters.serving.entrance import Entrance, RootPath, not_found
from a2a_adapters.serving.garbage import settled, trim_memory
from a2a_adapters.serving.health import HEALTH_PATHS, health_routes
from a2a_adapters.serving.opening import is_closed, opened
from a2a_adapters.serving.options import ServerOptions
from a2a_adapters.serving.siblings import share_a_port

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator, Mapping, Sequence

    from starlette.types import ASGIApp, Receive, Scope, Send

    _Start: TypeAlias = tuple[ServedAgents, Router]
    """The agents and routes of one start."""

_EXPOSED_HEADERS = ("A2A-Extensions", "X-A2A-Extensions", "ETag", "Retry-After", "WWW-Authenticate")
"""Response headers that web pages may read, besides the CORS-safelisted ones."""

_NOT_STARTED = Refusal(503, "UNAVAILABLE", "the agent has not been started")

_STARTED = (
    "this application is already started: end that start before the next one, or make another "
    "application with build_app"
)

_NOT_SHARED = (
    "other processes answer at the same port, but this one keeps its tasks in memory: the others "
    "do not find them. Use one worker, or a storage that they share (postgresql://...)"
)

logger = logging.getLogger(__name__)


def build_app(
    target: object | Mapping[str, object],
    *,
    name: str | None = None,
    description: str | None = None,
    card: Card | None = None,
    url: str | None = None,
    options: ServerOptions | None = None,
    dialects: Sequence[object] = (),
) -> Starlette:
    """Return an ASGI application that serves `target` as an A2A agent.

    A mapping of names to targets becomes several agents: each answers under `/agents/<name>/`, and
    `/agents` lists them.

    Args:
        target: A LangChain runnable, a LangGraph graph, a function, or any other object that a
            plugin supports; an `Adapter`; an a2a-sdk `AgentExecutor`; an async function or async
            context manager that creates one of them, opened and closed in the server's event loop;
            or a mapping of names to these.
        name: The agent's name in its card; by default the target's own.
        description: The agent's description in its card; by default the target's own.
        card: Fields of the card that replace those derived from the target.
        url: The public address in the card; by default the one that the client used.
        options: Authentication, limits, storage, ...
        dialects: Additional dialects to speak, as the names or options objects of their plugins.

    Raises:
        NoAdapterError: No plugin can serve the target.
        TargetError: A plugin supports its type, but cannot serve this object.
        ConfigurationError: A name cannot be part of a URL, several agents are to use gRPC, the
            `url` is invalid, a signed card has no `url`, or no plugin supports a dialect.
        MissingExtraError: The options request gRPC or metrics, which are not installed.
    """
    options = checked_options(options, ServerOptions)
    check_arguments(build_app, locals())
    about = Card(name=name, description=description).over(
        checked_options(card, Card, "card").over(Card.of(target))
    )
    if url:
        check_public(url)
    calls: dict[str, ASGIApp] = {}

    def build(ready: object) -> _Start:
        agents = ServedAgents(ready, about, url, options, dialects)
        return agents, Router(
            agents.routes(*health_routes(options.health_paths)), default=not_found
        )

    def admit(app: Starlette, start: _Start) -> None:
        app.state.agents, router = start
        app.router.default = router  # so that routes which the user adds are found first
        if not options.cors_origins:  # otherwise calls must pass the CORS middleware
            found = app.state.agents.calls()
            calls.update({options.root_path + path: call for path, call in found.items()})

    # Built at once so that errors are raised here. Everything in it belongs to one event loop,
    # runs and storage included: it serves the first start, and each later one builds its own.
    first = None if is_closed(target) else build(target)
    starts = _Starts()

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncGenerator[None]:
        nonlocal first
        with starts.one():
            use_threads(options.limits.threads)
            async with opened(target, keep_going=options.keep_going) as ready:
                start, first = first or build(ready), None
                admit(app, start)
                agents, _ = start
                trimming = asyncio.create_task(trim_memory())
                try:
                    await agents.start()
                    if not agents.storage.is_durable and share_a_port():
                        logger.warning(_NOT_SHARED)
                    with settled(), watched_loop(options.limits.lag_seconds):
                        yield
                finally:
                    trimming.cancel()
                    await agents.aclose()

    app = Starlette(middleware=_middleware(url, options, calls), lifespan=lifespan)
    app.router.default = _not_started
    if first and first[0].storage.is_ready:
        admit(app, first)
    return app


class _Starts:
    """The starts of an application, of which one can run at a time."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None

    @contextmanager
    def one(self) -> Generator[None]:
        """Run one start; a previous one that never ended counts as long as its loop runs.

        Raises:
            ConfigurationError: Another start is running.
        """
        if self._loop and self._loop.is_running():
            raise ConfigurationError(_STARTED)
        self._loop = asyncio.get_running_loop()
        try:
            yield
        finally:
            self._loop = None


async def _not_started(scope: Scope, receive: Receive, send: Send) -> None:
    logger.error("refused a request: the lifespan of build_app's application has not been started")
    await refuse(_NOT_STARTED, scope, receive, send)


def _middleware(
    url: str | None, options: ServerOptions, calls: Mapping[str, ASGIApp]
) -> list[Middleware]:
    browsers = None
    if options.authentication is None:
        own = urlsplit(url or "").hostname
        hosts = [*options.allowed_hosts, *([own] if own else [])]
        health = [*HEALTH_PATHS, *options.health_paths]
        browsers = BrowserGuard(hosts, options.cors_origins, health)
    head_bytes, trusts = options.limits.header_bytes, options.trusts_traces
    entrance = Middleware(Entrance, head_bytes, browsers, calls, trusts)
    middleware = [Middleware(RootPath, options.root_path)] if options.root_path else []
    middleware.append(entrance)
    if options.cors_origins:
        middleware.append(_cors(options.cors_origins))
    return middleware


def _cors(origins: Sequence[str]) -> Middleware:
    return Middleware(
        CORSMiddleware,
        allow_origins=origins,
        allow_methods=["GET", "POST", "DELETE"],
        allow_headers=["*"],
        expose_headers=_EXPOSED_HEADERS,
    )
