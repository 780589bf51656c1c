"""Serve a target until interrupted."""

from __future__ import annotations

import asyncio
import logging
import math
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import uvicorn

from a2a_adapters.app import build_app
from a2a_adapters.card import WELL_KNOWN_PATHS
from a2a_adapters.errors import UnsafeHostError
from a2a_adapters.observability.logs import log_config
from a2a_adapters.options import ServerOptions
from a2a_adapters.security.hosts import is_loopback

if TYPE_CHECKING:
    import socket
    from collections.abc import Sequence

    from a2a_adapters.agents import ServedAgents

# The logger whose lines uvicorn shows.
logger = logging.getLogger("uvicorn.error")

__all__ = ["serve", "serve_runnable"]

_LAST_SECONDS = 1.0
"""How long what is left may take to end when it is cancelled."""


def serve(  # noqa: PLR0913 - a choice each
    target: object,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    name: str | None = None,
    description: str | None = None,
    url: str | None = None,
    options: ServerOptions | None = None,
    dialects: Sequence[object] = (),
    allow_unauthenticated: bool = False,
) -> None:
    """Serve `target` as an A2A agent until interrupted.

    Args:
        target: As for `build_app`.
        host: Where to listen. Anything but this machine needs authentication, or
            `allow_unauthenticated`.
        port: Where to listen; 0 takes a free port.
        name: As for `build_app`.
        description: As for `build_app`.
        url: As for `build_app`.
        options: As for `build_app`.
        dialects: As for `build_app`.
        allow_unauthenticated: Let everyone who can reach `host` use the agent.

    Raises:
        NoAdapterError: No plugin can serve the target.
        TargetError: A plugin knows its type, but cannot serve this object.
        ConfigurationError: As for `build_app`.
        MissingExtraError: As for `build_app`.
        UnsafeHostError: `host` is not this machine, and there is no authentication.
    """
    options = replace(options or ServerOptions(), grpc_host=host)
    is_open = options.authentication is None
    if is_open and not allow_unauthenticated and not is_loopback(host):
        raise UnsafeHostError(
            f"{host} makes this agent, which asks nobody who they are, reachable from other "
            "machines; ask callers for tokens (ServerOptions(authentication=...), "
            "--bearer-token-file), or allow_unauthenticated=True (--allow-unauthenticated)"
        )
    app = build_app(
        target,
        name=name,
        description=description,
        url=url,
        options=options,
        dialects=dialects,
    )
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        proxy_headers=options.trust_forwarded,
        # For the connections, once all tasks have ended: a reader that has stopped never ends.
        timeout_graceful_shutdown=math.ceil(options.limits.shutdown_seconds),
        log_config=log_config(options.log_format),
        access_log=False,
    )
    with suppress(KeyboardInterrupt):  # uvicorn raises it once more when it has stopped
        Server(config).run()


serve_runnable = serve
"""`serve` under the name that LangChain's users look for."""


class Server(uvicorn.Server):
    """A uvicorn server that ends the running tasks before it waits for their streams."""

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve until told to stop; what does not end then is left behind.

        `asyncio.run` would wait for an agent that takes no notice of being cancelled.
        """
        loop = (self.config.get_loop_factory() or asyncio.new_event_loop)()
        asyncio.set_event_loop(loop)
        try:
            loop.run_until_complete(self.serve(sockets))
        finally:
            _end(loop)
            asyncio.set_event_loop(None)
            loop.close()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start listening and say where."""
        await super().startup(sockets)
        for server in self.servers:
            host, port = server.sockets[0].getsockname()[:2]
            root = f"http://{f'[{host}]' if ':' in host else host}:{port}"
            for agent in self._agents:
                url = root + agent.address.path
                logger.info("A2A agent at %s/, card at %s%s", url, url, WELL_KNOWN_PATHS[0])
        for agent in self._agents:
            if agent.grpc is not None:
                logger.info("A2A agent over gRPC at port %s", agent.grpc.port)

    @property
    def _agents(self) -> ServedAgents:
        agents: ServedAgents = self.config.app.state.agents  # type: ignore[union-attr]
        return agents

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop: tasks first, connections then."""
        await self._agents.drain()
        await super().shutdown(sockets)


def _end(loop: asyncio.AbstractEventLoop) -> None:
    left = asyncio.all_tasks(loop)
    for task in left:
        task.cancel()
    if left:
        _, left = loop.run_until_complete(asyncio.wait(left, timeout=_LAST_SECONDS))
    if not left:  # a generator that is still running cannot be closed
        loop.run_until_complete(loop.shutdown_asyncgens())
    loop.run_until_complete(loop.shutdown_default_executor())
