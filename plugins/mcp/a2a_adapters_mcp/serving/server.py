"""The target for MCP servers."""

from __future__ import annotations

import logging
import shlex
import time
from collections.abc import Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import httpx
from mcp import StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from a2a_adapters import ConfigurationError, RemoteOptions
from a2a_adapters.dialects import HttpClients, agent_url, quote
from a2a_adapters.plugin import check_arguments
from a2a_adapters_mcp.serving.adapter import McpAdapter
from a2a_adapters_mcp.serving.connection import Connection, ServerGoneError
from a2a_adapters_mcp.serving.pool import Connections, PerConversation, Shared
from a2a_adapters_mcp.serving.shown import ABOUT_LENGTH, Offer, listed, usable
from a2a_adapters_mcp.serving.stderr import logged_output

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from a2a_adapters import OutboundPolicy
    from a2a_adapters_mcp.serving.connection import Streams

__all__ = ["McpServer"]

_SILENT_SECONDS = 3_600.0
"""Maximum silence of a server; most send heartbeats, but tools may run long."""

_RETRIES = 2

_SLOW_SECONDS = 1.0
_SLOW = (
    "the MCP server %s takes %.1f s to start, once per conversation; if it keeps no session "
    "state, start it once for all callers with McpServer(..., shared=True)"
)

logger = logging.getLogger(__name__)


class McpServer:
    """An MCP server to serve as an agent; each tool is a skill.

    `serve(McpServer("npx -y @modelcontextprotocol/server-everything"))` opens it in the
    server's event loop and closes it with the server.

    Args:
        server: The command that starts it, as a string or words, or its URL (streamable HTTP).
            Never pass untrusted input: it is executed.
        env: Variables for the command, in addition to `PATH`, `HOME` and the like.
        cwd: Working directory of the command.
        auth: Credentials for the URL.
        outbound: Policy for URLs from untrusted sources; by default,
            the URL is trusted. Redirects to other hosts are never followed.
        name: Name of the agent. Default: that of the server.
        description: Description of the agent. Default: the server's instructions.
        shared: Whether all callers share a connection, for servers without session state. It
            saves one start per conversation, but the server cannot ask the user.
        connections: Maximum number of connections.
        idle_seconds: Time to keep a conversation's connection for its next message.
        start_seconds: Time limit for starting the server.

    Raises:
        ConfigurationError: The command or URL is invalid, or `connections` is not positive.
    """

    def __init__(  # noqa: PLR0913 - independent options
        self,
        server: str | Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | Path | None = None,
        auth: httpx.Auth | None = None,
        outbound: OutboundPolicy | None = None,
        name: str | None = None,
        description: str | None = None,
        shared: bool = False,
        connections: int = 32,
        idle_seconds: float = 300,
        start_seconds: float = 60,
    ) -> None:
        check_arguments(McpServer, locals(), {"connections", "idle_seconds", "start_seconds"})
        is_url = isinstance(server, str) and server.strip().startswith(("http://", "https://"))
        self._url = agent_url(str(server)) if is_url else None
        self._command = None if is_url else _command(server, env, cwd)
        self._clients = HttpClients(
            self._url, auth, RemoteOptions(idle_timeout=_SILENT_SECONDS, retries=_RETRIES)
        )
        self._auth = auth
        self._outbound = outbound
        self._name = name
        self._description = description
        self._shared = shared
        self._limit = connections
        self._idle_seconds = idle_seconds
        self._start_seconds = start_seconds
        self._pool: Connections | None = None

    async def __aenter__(self) -> McpAdapter:
        self._pool = pool = (
            Shared(self._connection)
            if self._shared
            else PerConversation(self._connection, self._limit, self._idle_seconds)
        )
        started = time.monotonic()
        try:
            first = await pool.first()
        except ServerGoneError as error:
            await self.__aexit__()
            raise ServerGoneError(f"{error} ({self._shown})") from error
        except BaseException:
            await self.__aexit__()
            raise
        if (
            self._command
            and not self._shared
            and (took := time.monotonic() - started) > _SLOW_SECONDS
        ):
            logger.warning(_SLOW, first.name, took)
        name = self._name or first.name
        about = self._description or first.instructions or f"The tools of the MCP server {name}."
        offer = Offer(usable(first.tools), usable(first.prompts), listed(first.resources))
        return McpAdapter(pool, offer, name, quote(about, ABOUT_LENGTH))

    async def __aexit__(self, *_: object) -> None:
        if self._pool is not None:
            await self._pool.aclose()
        await self._clients.aclose()

    @property
    def _shown(self) -> str:
        """Name of the server for logs, without credentials, arguments or query."""
        if self._command is not None:
            return f"the command {self._command.command}"
        parts = urlsplit(str(self._url))
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"

    def _connection(self) -> Connection:
        return Connection(
            self._streams, can_ask=not self._shared, start_seconds=self._start_seconds
        )

    @asynccontextmanager
    async def _streams(self) -> AsyncGenerator[Streams]:
        if self._command is not None:
            with logged_output(self._shown) as output:
                async with stdio_client(self._command, output) as streams:
                    yield streams
            return
        async with self._http() as http:
            url = str(self._url)
            async with streamable_http_client(url, http_client=http) as (read, write, _):
                yield read, write

    @asynccontextmanager
    async def _http(self) -> AsyncGenerator[httpx.AsyncClient]:
        if self._outbound is None:
            yield await self._clients.get()
            return
        timeout = httpx.Timeout(_SILENT_SECONDS, connect=self._start_seconds)
        transport = self._outbound.transport()
        async with httpx.AsyncClient(transport=transport, auth=self._auth, timeout=timeout) as http:
            yield http


def _command(
    server: str | Sequence[str], env: Mapping[str, str] | None, cwd: str | Path | None
) -> StdioServerParameters:
    try:
        words = shlex.split(server) if isinstance(server, str) else list(server)
    except ValueError as error:
        raise ConfigurationError(f"{server!r} is not a command: {error}") from error
    if not words:
        raise ConfigurationError("an MCP server needs a command or a URL")
    return StdioServerParameters(
        command=words[0], args=words[1:], env=dict(env) if env else None, cwd=cwd
    )
