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

from a2a_adapters.agents import ServedAgents, as_executor
from a2a_adapters.options import ServerOptions
from a2a_adapters.security.browsers import BrowserGuard
from a2a_adapters.threads import ThreadPool

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping

    from starlette.requests import Request
    from starlette.responses import Response

__all__ = ["as_executor", "build_app"]


def build_app(
    target: object | Mapping[str, object],
    *,
    name: str | None = None,
    description: str | None = None,
    url: str | None = None,
    options: ServerOptions | None = None,
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

    Raises:
        NoAdapterError: No plugin can serve the target.
        TargetError: A plugin knows its type, but cannot serve this object.
        ConfigurationError: A name cannot be part of an address, or there are several for gRPC.
        MissingExtraError: The options ask for gRPC, which is not installed.
    """
    options = options or ServerOptions()
    executor = target if isinstance(target, AgentExecutor) else as_executor(target, options)
    about = _describe(executor, name, description)
    push = options.push is not None
    runtime = Runtime(
        executor,
        build_card(about, url or "", push=push),
        task_store=options.task_store,
        limits=options.limits,
        push=options.push,
    )
    card = CardEndpoint(about, url, trust_forwarded=options.trust_forwarded, push=push)
    callers = CallerContextBuilder()
    routes = [
        Route("/", JsonRpcEndpoint(runtime, callers), methods=["POST"]),
        *card.routes(),
        *create_rest_routes(runtime, callers, enable_v0_3_compat=True),
    ]
    app = Starlette(routes=routes, lifespan=_lifespan(runtime, executor, options.limits))
    app.state.runtime = runtime
    return app


def _middleware(url: str | None, options: ServerOptions) -> list[Middleware]:
    if options.authentication is not None:
        return []
    own = urlsplit(url or "").hostname
    return [Middleware(BrowserGuard, [*options.allowed_hosts, *([own] if own else [])])]


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
