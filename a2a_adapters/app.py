"""From a target to an ASGI application."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import Route

from a2a_adapters.adapter import AgentDescription
from a2a_adapters.bindings.caller import CallerContextBuilder
from a2a_adapters.bindings.jsonrpc import JsonRpcEndpoint
from a2a_adapters.card import CardEndpoint, build_card
from a2a_adapters.errors import ConfigurationError, MissingExtraError
from a2a_adapters.executor import AdapterExecutor
from a2a_adapters.observability.requests import RequestObserver
from a2a_adapters.options import ServerOptions
from a2a_adapters.security.browsers import BrowserGuard
from a2a_adapters.threads import ThreadPool

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping

    from a2a_adapters.limits import Limits
    from a2a_adapters.observability.figures import Figures

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
        MissingExtraError: The options ask for metrics, which are not installed.
        ConfigurationError: The card is to be signed, and there is no `url`.
    """
    options = options or ServerOptions()
    if options.card_signer and not url:
        raise ConfigurationError(
            "a signed card needs the agent's public address (url=..., --url): the signature "
            "would vouch for any host that a client names"
        )
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
    card = CardEndpoint(
        about,
        url,
        trust_forwarded=options.trust_forwarded,
        push=push,
        signer=options.card_signer,
    )
    callers = CallerContextBuilder()
    routes = [
        Route("/", JsonRpcEndpoint(runtime, callers), methods=["POST"]),
        *card.routes(),
        *create_rest_routes(runtime, callers, enable_v0_3_compat=True),
    ]
    if options.metrics:
        routes.append(_metrics_route({about.name: runtime.figures}))
    app = Starlette(
        routes=routes,
        middleware=[Middleware(RequestObserver)],
        lifespan=_lifespan(runtime, executor, options.limits),
    )
    app.state.runtime = runtime
    return app


def _metrics_route(agents: Mapping[str, Figures]) -> Route:
    try:
        from a2a_adapters.observability.metrics import metrics_route  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise MissingExtraError("/metrics", "metrics") from error
    return metrics_route(agents)


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
