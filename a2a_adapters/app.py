"""From a target to an ASGI application."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from a2a.server.agent_execution import AgentExecutor
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import Mount, Route, Router

from a2a_adapters.adapter import AgentDescription
from a2a_adapters.bindings.caller import CallerContextBuilder
from a2a_adapters.bindings.jsonrpc import JsonRpcEndpoint
from a2a_adapters.bindings.rest import rest_routes
from a2a_adapters.card import CardEndpoint, build_card
from a2a_adapters.errors import MissingExtraError
from a2a_adapters.executor import AdapterExecutor
from a2a_adapters.options import ServerOptions
from a2a_adapters.plugins import installed_plugins
from a2a_adapters.runtime import Runtime
from a2a_adapters.security.body import BodyLimit
from a2a_adapters.security.browsers import BrowserGuard
from a2a_adapters.security.gate import AuthenticationGate
from a2a_adapters.threads import ThreadPool

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Sequence

    from starlette.routing import BaseRoute
    from starlette.types import ASGIApp

    from a2a_adapters.bindings.grpc import GrpcServer
    from a2a_adapters.limits import Limits

__all__ = ["as_executor", "build_app"]


def as_executor(target: object, options: ServerOptions | None = None) -> AdapterExecutor:
    """Return `target` as an `AgentExecutor` for an a2a-sdk server of your own.

    Raises:
        NoAdapterError: No plugin can serve the target.
        TargetError: A plugin knows its type, but cannot serve this object.
    """
    options = options or ServerOptions()
    adapter = installed_plugins().adapt(target)
    return AdapterExecutor(adapter, options.limits, options.redact)


def build_app(
    target: object,
    *,
    name: str | None = None,
    description: str | None = None,
    url: str | None = None,
    options: ServerOptions | None = None,
) -> Starlette:
    """Return an ASGI application that serves `target` as an A2A agent.

    Args:
        target: A LangChain runnable, a LangGraph graph, a function, anything a plugin knows;
            an `Adapter`; or an a2a-sdk `AgentExecutor`.
        name: The agent's name in its card, in place of the target's own.
        description: What the card says the agent does.
        url: The public address in the card; by default the one a client used.
        options: Limits, storage and the like.

    Raises:
        NoAdapterError: No plugin can serve the target.
        TargetError: A plugin knows its type, but cannot serve this object.
        MissingExtraError: The options ask for gRPC, which is not installed.
    """
    options = options or ServerOptions()
    executor = target if isinstance(target, AgentExecutor) else as_executor(target, options)
    about = _describe(executor, name, description)
    runtime = Runtime(
        executor,
        build_card(about, url or "", options.authentication),
        task_store=options.task_store,
        limits=options.limits,
    )
    card = CardEndpoint(
        about,
        url,
        trust_forwarded=options.trust_forwarded,
        authentication=options.authentication,
    )
    callers = CallerContextBuilder()
    routes = [
        Route("/", JsonRpcEndpoint(runtime, callers), methods=["POST"]),
        *create_rest_routes(runtime, callers, enable_v0_3_compat=True),
    ]
    app = Starlette(
        routes=[*card.routes(), Mount("", _protected(routes, options))],
        middleware=_middleware(url, options),
        lifespan=_lifespan(runtime, executor, options.limits),
    )
    app.state.runtime = runtime
    app.state.grpc = grpc
    return app


def _protected(routes: Sequence[BaseRoute], options: ServerOptions) -> ASGIApp:
    """Return the routes that only those may use who are known."""
    app: ASGIApp = BodyLimit(Router(routes), options.limits.body_bytes)
    return AuthenticationGate(app, options.authentication) if options.authentication else app


def _middleware(url: str | None, options: ServerOptions) -> list[Middleware]:
    if options.authentication is not None:
        return []
    own = urlsplit(url or "").hostname
    return [Middleware(BrowserGuard, [*options.allowed_hosts, *([own] if own else [])])]


def _describe(
    executor: AgentExecutor, name: str | None, description: str | None
) -> AgentDescription:
    if isinstance(executor, AdapterExecutor):
        about = executor.adapter.describe()
    else:
        kind = type(executor).__name__
        about = AgentDescription(name=kind, description=f"The agent {kind}.", input_modes=["*/*"])
    return replace(
        about,
        name=name or about.name,
        description=description or about.description,
    )


def _grpc_server(runtime: Runtime, options: ServerOptions) -> GrpcServer | None:
    if options.grpc_port is None:
        return None
    try:
        from a2a_adapters.bindings.grpc import GrpcServer  # noqa: PLC0415 - an extra
    except ModuleNotFoundError as error:
        raise MissingExtraError("gRPC", "grpc") from error
    return GrpcServer(runtime, options.grpc_host, options.grpc_port, options.grpc_url)


def _lifespan(
    runtime: Runtime, grpc: GrpcServer | None, executor: AgentExecutor, limits: Limits
) -> Callable[[Starlette], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncGenerator[None]:
        # Frameworks run blocking code in the loop's default pool, which has a few threads only.
        asyncio.get_running_loop().set_default_executor(ThreadPool(limits.threads))
        if grpc is not None:
            await grpc.start()
        try:
            yield
        finally:
            await runtime.aclose()
            if grpc is not None:
                await grpc.stop()
            if isinstance(executor, AdapterExecutor):
                await executor.aclose()

    return lifespan
