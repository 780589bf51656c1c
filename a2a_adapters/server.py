"""From a target to a running A2A server."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import uvicorn
from a2a.server.agent_execution import AgentExecutor
from a2a.server.routes import create_rest_routes
from starlette.applications import Starlette
from starlette.routing import Route

from a2a_adapters.adapter import AgentDescription
from a2a_adapters.caller import CallerContextBuilder
from a2a_adapters.card import WELL_KNOWN_PATHS, CardEndpoint, build_card
from a2a_adapters.errors import UnsafeHostError
from a2a_adapters.executor import AdapterExecutor
from a2a_adapters.jsonrpc import JsonRpcEndpoint
from a2a_adapters.limits import Limits
from a2a_adapters.plugins import installed_plugins
from a2a_adapters.runtime import Runtime
from a2a_adapters.threads import ThreadPool

if TYPE_CHECKING:
    import socket
    from collections.abc import AsyncGenerator, Callable

    from a2a.server.cluster.task_store import VersionedTaskStore
    from a2a.server.tasks import TaskStore

    from a2a_adapters.executor import Redact

# The logger whose lines uvicorn shows.
logger = logging.getLogger("uvicorn.error")

__all__ = ["ServerOptions", "as_executor", "build_app", "serve", "serve_runnable"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """How an agent is run. The defaults suit an agent on one's own machine.

    Attributes:
        limits: What the agent may use.
        task_store: Where tasks are kept; by default in memory.
        redact: Changes or drops events of the progress extension before they are sent.
        trust_forwarded: Whether the card's address follows `X-Forwarded-*` headers; only
            behind a proxy that sets them.
    """

    limits: Limits = field(default_factory=Limits)
    task_store: TaskStore | VersionedTaskStore | None = None
    redact: Redact | None = None
    trust_forwarded: bool = False


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
    """
    options = options or ServerOptions()
    executor = target if isinstance(target, AgentExecutor) else as_executor(target, options)
    about = _describe(executor, name, description)
    runtime = Runtime(
        executor,
        build_card(about, url or ""),
        task_store=options.task_store,
        limits=options.limits,
    )
    card = CardEndpoint(about, url, trust_forwarded=options.trust_forwarded)
    callers = CallerContextBuilder()
    routes = [
        Route("/", JsonRpcEndpoint(runtime, callers), methods=["POST"]),
        *card.routes(),
        *create_rest_routes(runtime, callers, enable_v0_3_compat=True),
    ]
    app = Starlette(routes=routes, lifespan=_lifespan(runtime, executor, options.limits))
    app.state.runtime = runtime
    return app


def serve(
    target: object,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    name: str | None = None,
    description: str | None = None,
    url: str | None = None,
    options: ServerOptions | None = None,
    allow_unauthenticated: bool = False,
) -> None:
    """Serve `target` as an A2A agent until interrupted.

    Args:
        target: As for `build_app`.
        host: Where to listen. Anything but this machine needs `allow_unauthenticated`.
        port: Where to listen; 0 takes a free port.
        name: As for `build_app`.
        description: As for `build_app`.
        url: As for `build_app`.
        options: As for `build_app`.
        allow_unauthenticated: Let everyone who can reach `host` use the agent.

    Raises:
        NoAdapterError: No plugin can serve the target.
        TargetError: A plugin knows its type, but cannot serve this object.
        UnsafeHostError: `host` is not this machine, and nothing allowed that.
    """
    if not allow_unauthenticated and not _is_loopback(host):
        raise UnsafeHostError(
            f"{host} makes this agent, which asks nobody who they are, reachable from other "
            "machines; allow_unauthenticated=True (--allow-unauthenticated) if you want that"
        )
    app = build_app(target, name=name, description=description, url=url, options=options)
    trust_forwarded = options is not None and options.trust_forwarded
    config = uvicorn.Config(app, host=host, port=port, proxy_headers=trust_forwarded)
    with suppress(KeyboardInterrupt):  # uvicorn raises it once more when it has stopped
        Server(config).run()


serve_runnable = serve
"""`serve` under the name that LangChain's users look for."""


class Server(uvicorn.Server):
    """A uvicorn server that ends the running tasks before it waits for their streams."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start listening and say where."""
        await super().startup(sockets)
        for server in self.servers:
            host, port = server.sockets[0].getsockname()[:2]
            address = f"http://{f'[{host}]' if ':' in host else host}:{port}"
            logger.info("A2A agent at %s/, card at %s%s", address, address, WELL_KNOWN_PATHS[0])

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop: tasks first, connections then."""
        await self.config.app.state.runtime.aclose()  # type: ignore[union-attr]
        await super().shutdown(sockets)


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


def _lifespan(
    runtime: Runtime, executor: AgentExecutor, limits: Limits
) -> Callable[[Starlette], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncGenerator[None]:
        # Frameworks run blocking code in the loop's default pool, which has a few threads only.
        asyncio.get_running_loop().set_default_executor(ThreadPool(limits.threads))
        try:
            yield
        finally:
            await runtime.aclose()
            if isinstance(executor, AdapterExecutor):
                await executor.aclose()

    return lifespan


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
