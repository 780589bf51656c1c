"""Serves a target until interrupted."""

from __future__ import annotations

import asyncio
import logging
import math
import sys
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias, cast

import uvicorn

from a2a_adapters.concurrency import blocking
from a2a_adapters.concurrency.threads import busy_threads
from a2a_adapters.contract.checking import check_arguments, checked_options
from a2a_adapters.contract.errors import ConfigurationError, UnsafeHostError
from a2a_adapters.contract.plugins import installed_plugins
from a2a_adapters.net.addresses import is_loopback, listen
from a2a_adapters.observability.logs import log_process, log_server
from a2a_adapters.protocol.card import WELL_KNOWN_PATHS
from a2a_adapters.serving.app import build_app
from a2a_adapters.serving.health import HEALTH_PATHS
from a2a_adapters.serving.http import http_protocol
from a2a_adapters.serving.options import ServerOptions
from a2a_adapters.serving.served_dialects import CONSOLE
from a2a_adapters.storage import open_storage

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Sequence
    from types import FrameType

    from starlette.applications import Starlette

    from a2a_adapters.contract.card import Card
    from a2a_adapters.serving.agents import ServedAgents

OnStart: TypeAlias = "Callable[[Sequence[str], ServedAgents], object]"
"""Called with the server's addresses and agents."""

# The logger whose lines uvicorn shows.
logger = logging.getLogger("uvicorn.error")

__all__ = ["aserve", "serve", "serve_runnable"]

_LAST_SECONDS = 1.0
"""Time that remaining tasks get to end after they are cancelled."""

_ACCEPTED_PER_TURN = 64
"""Maximum number of connections accepted in a turn; other processes may take the rest."""

_PAUSE_SECONDS = 1.0
"""Time without accepting after an error, such as too many open files."""


def serve(  # noqa: PLR0913 - a choice each
    target: object,
    *,
    host: str = "127.0.0.1",
    port: int | None = 8000,
    name: str | None = None,
    description: str | None = None,
    card: Card | None = None,
    url: str | None = None,
    options: ServerOptions | None = None,
    storage: str | None = None,
    dialects: Sequence[object] = (),
    allow_unauthenticated: bool = False,
    sockets: Sequence[socket.socket] | None = None,
    on_start: OnStart | None = None,
) -> None:
    """Serve `target` as an A2A agent until interrupted.

    It sets up the log of the whole process, including libraries, in `ServerOptions.log_format`.

    Args:
        target: As for `build_app`.
        host: The address to listen on. Other than loopback addresses it needs authentication, or
            `allow_unauthenticated`.
        port: The port to listen on; 0 takes a free one, and None 8000 or the next free one.
        name: As for `build_app`.
        description: As for `build_app`.
        card: As for `build_app`.
        url: As for `build_app`.
        options: As for `build_app`.
        storage: The storage URL, in place of `ServerOptions.storage`.
        dialects: As for `build_app`.
        allow_unauthenticated: Whether everyone who can reach `host` may use the agent.
        sockets: Open sockets to listen on, in place of `port`.
        on_start: Shows the addresses once the server answers; by default they are logged.

    Raises:
        NoAdapterError: No plugin can serve the target.
        TargetError: A plugin supports its type, but cannot serve this object.
        ConfigurationError: As for `build_app`, or an event loop is running: see `aserve`.
        MissingExtraError: As for `build_app`.
        UnsafeHostError: `host` is not a loopback address, and there is no authentication.
        ListenError: The port is in use, or the host is not local.
    """
    if _is_in_loop():
        raise ConfigurationError(
            "serve cannot block a running event loop, such as a notebook's: "
            "use serve_in_background(...), which has its own, or `await aserve(...)`"
        )
    check_arguments(serve, locals())
    options = checked_options(options, ServerOptions)
    log_process(options.log_format)
    options = options_for(host, options, storage, allow_unauthenticated=allow_unauthenticated)
    asyncio.run(check_storage(options))
    app = build_app(
        target,
        name=name,
        description=description,
        card=card,
        url=url,
        options=options,
        dialects=dialects,
    )
    server = Server(app, host, port, options, on_start)
    with suppress(KeyboardInterrupt):  # uvicorn raises it once more when it has stopped
        server.run(list(sockets) if sockets else None)
    if left := busy_threads():
        logger.warning("stopped while %d blocking call(s) were still running", left)


serve_runnable = serve
"""An alias of `serve` for LangChain users."""


async def aserve(  # noqa: PLR0913 - a choice each
    target: object,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    name: str | None = None,
    description: str | None = None,
    card: Card | None = None,
    url: str | None = None,
    options: ServerOptions | None = None,
    storage: str | None = None,
    dialects: Sequence[object] = (),
    allow_unauthenticated: bool = False,
) -> None:
    """Serve `target` in the running event loop, until interrupted or cancelled.

    The arguments and errors are those of `serve`, except for `sockets` and `on_start`.
    """
    check_arguments(aserve, locals())
    options = options_for(host, options, storage, allow_unauthenticated=allow_unauthenticated)
    log_server(options.log_format)
    await check_storage(options)
    app = build_app(
        target,
        name=name,
        description=description,
        card=card,
        url=url,
        options=options,
        dialects=dialects,
    )
    await Server(app, host, port, options).serve()


def _is_in_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


async def check_storage(options: ServerOptions) -> None:
    """Open the storage once to detect problems before anything is served.

    Raises:
        ConfigurationError: The storage cannot be used.
        MissingExtraError: Its driver is not installed.
    """
    storage = open_storage(options.storage, options.limits, bus=options.bus)
    await storage.start()
    await storage.aclose(1)


def options_for(
    host: str, options: ServerOptions | None, storage: str | None, *, allow_unauthenticated: bool
) -> ServerOptions:
    """Return the options of a server on `host`.

    Raises:
        UnsafeHostError: `host` is not a loopback address, and there is no authentication.
    """
    options = replace(checked_options(options, ServerOptions), grpc_host=host)
    if storage is not None:
        options = replace(options, storage=storage)
    is_open = options.authentication is None
    if is_open and not allow_unauthenticated and not is_loopback(host):
        raise UnsafeHostError(
            f"{host} would make this agent reachable from other machines without authentication; "
            "require tokens (ServerOptions(authentication=...), --bearer-token-file), or set "
            "allow_unauthenticated=True (--allow-unauthenticated)"
        )
    if options.console is None:
        is_ours = is_open and is_loopback(host)
        is_offered = is_ours and sys.stdout.isatty() and installed_plugins().has(CONSOLE)
        options = replace(options, console=is_offered)
    return options


class Server(uvicorn.Server):
    """A uvicorn server for an application of `build_app`.

    When it stops, it ends the running tasks before it waits for their streams.
    """

    def __init__(
        self,
        app: Starlette,
        host: str,
        port: int | None,
        options: ServerOptions,
        on_start: OnStart | None = None,
    ) -> None:
        config = uvicorn.Config(
            app,
            host=host,
            http=http_protocol(
                options.limits, behind_proxy=options.trust_forwarded, probes=_probes(options)
            ),
            ws="none",
            lifespan="off",  # `serve` runs it, because uvicorn would only log failures
            proxy_headers=options.trust_forwarded,
            timeout_keep_alive=math.ceil(options.limits.keep_alive_seconds),
            # Closes connections of clients that do not read, once all tasks have ended.
            timeout_graceful_shutdown=math.ceil(options.limits.shutdown_seconds),
            log_config=None,
            access_log=False,
        )
        super().__init__(config)
        self._app, self._port = app, port
        self._on_start = on_start or _log_addresses
        self._metrics = options.metrics
        self._shutdown_seconds = options.limits.shutdown_seconds
        self._open = AsyncExitStack()
        self._loop: asyncio.AbstractEventLoop | None = None

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve until interrupted, and abandon tasks that do not end then.

        `asyncio.run` would wait for an agent that ignores its cancellation.
        """
        loop = (self.config.get_loop_factory() or asyncio.new_event_loop)()
        asyncio.set_event_loop(loop)
        try:
            loop.run_until_complete(self.serve(sockets))
        finally:
            _end(loop)
            asyncio.set_event_loop(None)
            loop.close()

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, open the targets, serve until interrupted or cancelled, and close everything.

        Raises:
            ListenError: The port is in use, or the host is not local.
        """
        self._loop = asyncio.get_running_loop()
        sockets = sockets or listen(self.config.host, self._port)
        async with self._open:
            for each in sockets:
                self._open.callback(each.close)
            await self._open.enter_async_context(self._app.router.lifespan_context(self._app))
            if not isinstance(self._metrics, bool):
                await self._open.enter_async_context(self._metrics.shared())
            try:
                await super().serve(sockets)
            except asyncio.CancelledError:  # uvicorn would not shut down
                await self.shutdown(sockets)
                raise

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start answering, and show the addresses."""
        if sockets and type(asyncio.get_running_loop()).__module__.startswith("uvloop"):
            await super().startup([])
            acceptors = [_Acceptor(each, self._connection) for each in sockets]
            self.servers = cast("list[asyncio.Server]", acceptors)
        else:
            await super().startup(sockets)
        places = [server.sockets[0].getsockname()[:2] for server in self.servers]
        roots = [f"http://{f'[{host}]' if ':' in host else host}:{port}" for host, port in places]
        if roots:  # otherwise a signal has stopped it in the meantime
            self._open.enter_context(blocking.answering_at(places))
            self._on_start(roots, self._agents)

    def _connection(self) -> asyncio.Protocol:
        made: asyncio.Protocol = self.config.http_protocol_class(  # type: ignore[call-arg]
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )
        return made

    @property
    def _agents(self) -> ServedAgents:
        agents: ServedAgents = self._app.state.agents
        return agents

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop; at a second interrupt, give running tasks no more time."""
        super().handle_exit(sig, frame)
        if self.force_exit and self._loop:
            self._loop.call_soon_threadsafe(self._agents.hurry)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop the tasks, then the connections, and finally the targets."""
        if self._agents.is_busy():
            logger.info(
                "Stopping: running tasks get %g s to finish (Ctrl-C again ends them at once)",
                self._shutdown_seconds,
            )
        await self._agents.drain()
        await super().shutdown(sockets)
        # Not later, because uvicorn then raises the signal again that stopped it.
        await self._open.aclose()


class _Acceptor:
    """Accepts the connections of a listening socket on uvloop, many in each turn of the loop.

    uvloop itself accepts one in each turn. Under a thousand streams a turn takes tens of
    milliseconds, so new requests, health checks among them, would wait for seconds.
    """

    def __init__(self, listening: socket.socket, make: Callable[[], asyncio.Protocol]) -> None:
        self.sockets = [listening]
        self._listening = listening
        self._make = make
        self._loop = asyncio.get_running_loop()
        self._starting: set[asyncio.Task[object]] = set()
        listening.setblocking(False)
        self._loop.add_reader(listening, self._accept)

    def _accept(self) -> None:
        for _ in range(_ACCEPTED_PER_TURN):
            try:
                connection, _ = self._listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:  # such as too many open files
                self._pause(error)
                return
            connection.setblocking(False)
            start = self._loop.connect_accepted_socket(self._make, connection)
            starting = self._loop.create_task(start)
            self._starting.add(starting)
            starting.add_done_callback(self._starting.discard)

    def _pause(self, error: OSError) -> None:
        logger.warning("cannot accept connections for %g s: %s", _PAUSE_SECONDS, error)
        self._loop.remove_reader(self._listening)
        self._loop.call_later(_PAUSE_SECONDS, self._resume)

    def _resume(self) -> None:
        if self.sockets:
            self._loop.add_reader(self._listening, self._accept)

    def close(self) -> None:
        """Accept no more connections."""
        if self.sockets:
            self.sockets = []
            self._loop.remove_reader(self._listening)

    async def wait_closed(self) -> None:
        """Do nothing: it is closed at once."""


def _probes(options: ServerOptions) -> list[str]:
    paths = [*HEALTH_PATHS, *options.health_paths]
    return [root + path for root in {options.root_path, ""} for path in paths]


def _log_addresses(roots: Sequence[str], agents: ServedAgents) -> None:
    for root in roots:
        for name, path in agents.dialects.endpoints.items():
            logger.info("%s at %s%s", name, root, path)
        for agent in agents:
            url = root + agent.address.path
            logger.info("A2A agent at %s/, card at %s%s", url, url, WELL_KNOWN_PATHS[0])
    for agent in agents:
        for each in agent.bindings:
            logger.info("A2A agent over %s at port %s", each.name, each.port)


def _end(loop: asyncio.AbstractEventLoop) -> None:
    left = asyncio.all_tasks(loop)
    for task in left:
        task.cancel()
    if left:
        _, left = loop.run_until_complete(asyncio.wait(left, timeout=_LAST_SECONDS))
    if not left:  # a generator that is still running cannot be closed
        loop.run_until_complete(loop.shutdown_asyncgens())
    loop.run_until_complete(loop.shutdown_default_executor())
