"""Runs an MCP server for the agents named on a command line, over HTTP or standard input."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import sys
from contextlib import AsyncExitStack, suppress
from io import TextIOWrapper
from typing import TYPE_CHECKING

import anyio
from a2a.server.context import ServerCallContext
from mcp.server.stdio import stdio_server

from a2a_adapters import (
    ConfigurationError,
    HeadersAuth,
    RemoteAgent,
    RemoteAgentError,
    RemoteOptions,
    ServerOptions,
    build_app,
    serve,
)
from a2a_adapters_mcp.offering.offer import Captured, McpTools
from a2a_adapters_mcp.offering.remote import opener
from a2a_adapters_mcp.offering.server import ToolServer
from a2a_adapters_mcp.offering.tools import agent_tools

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import TextIO

    from a2a_adapters_mcp.offering.tools import By


logger = logging.getLogger(__name__)

_URL = re.compile(r"(?:([\w.~-]+)=)?(https?://.+)")
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._~-]+")
_NAME_LENGTH = 60


class Offered:
    """The agents named by command line arguments.

    Args:
        words: URLs of agents and targets, each optionally prefixed with a name.
        headers: Headers for a remote agent, such as `X-API-Key: secret`.
        load: Loads targets from arguments.
        keep_going: Whether to log and skip agents that cannot be opened.
    """

    def __init__(
        self,
        words: Sequence[str],
        headers: Sequence[str],
        load: Callable[[Sequence[str]], object],
        *,
        keep_going: bool = False,
    ) -> None:
        self._words = words
        self._load = load
        self.options = ServerOptions(keep_going=keep_going)
        remote = [word for word in words if _URL.fullmatch(word)]
        self._auth = HeadersAuth(_headers(headers)) if headers else None
        if self._auth and len(remote) != 1:
            raise ConfigurationError("--header requires exactly one agent, given by its URL")

    def target(self) -> object:
        """Return the single target, or all targets by name.

        Raises:
            ConfigurationError: A target cannot be loaded, or its name is not unique.
            RemoteAgentError: A remote agent's card cannot be read.
        """
        if len(self._words) == 1:
            found = _URL.fullmatch(self._words[0])
            if found is None:
                return self._load(self._words)
            if not found[1]:
                return opener(self._remote(found[2]))
        return self._all()

    def _all(self) -> Mapping[str, object]:
        targets: dict[str, object] = {}
        for word in self._words:
            try:
                added = self._named(word, targets)
            except RemoteAgentError as error:
                if not self.options.keep_going:
                    raise
                logger.error("%s; skipped", error)  # noqa: TRY400 - the message suffices
                continue
            if taken := targets.keys() & added.keys():
                raise ConfigurationError(f"two agents are named {min(taken)!r}")
            targets |= added
        return targets

    def _named(self, word: str, taken: Mapping[str, object]) -> dict[str, object]:
        """Return the targets of an argument by the given or a derived name."""
        if found := _URL.fullmatch(word):
            agent = self._remote(found[2])
            name = found[1] or _free(_as_name(agent.describe_sync().name), taken)
            return {name: opener(agent)}
        loaded = self._load([word])
        if isinstance(loaded, dict):
            return loaded
        return {_free(_as_name(word.rpartition(":")[2]), taken): loaded}

    def _remote(self, url: str) -> RemoteAgent:
        return RemoteAgent(url, auth=self._auth, options=RemoteOptions(progress=True))


def over_http(offered: Offered, host: str, port: int, by: By) -> None:
    """Serve over streamable HTTP until interrupted.

    Raises:
        A2AAdaptersError: Serving fails.
    """
    serve(
        offered.target(),
        host=host,
        port=port,
        options=offered.options,
        dialects=[McpTools(by)],
    )


def over_stdio(offered: Offered, by: By) -> None:
    """Serve the client that started this process until it closes standard input.

    Raises:
        A2AAdaptersError: Serving fails.
    """
    output = take_stdout()
    with suppress(KeyboardInterrupt):
        asyncio.run(answer_stdio(offered.target(), output, by, offered.options))
    os._exit(0)  # a thread may still be reading standard input


def _headers(lines: Sequence[str]) -> dict[str, str]:
    headers = {}
    for line in lines:
        name, separator, value = line.partition(":")
        if not separator or not name.strip():
            raise ConfigurationError("--header must have the form 'Name: value'")
        headers[name.strip()] = value.strip()
    return headers


def _as_name(name: str) -> str:
    return _NOT_IN_NAMES.sub("-", name).strip("-._~")[:_NAME_LENGTH] or "agent"


def _free(name: str, taken: Mapping[str, object]) -> str:
    free, number = name, 2
    while free in taken:
        free, number = f"{name}-{number}", number + 1
    return free


def take_stdout() -> TextIO:
    """Reserve standard output for the protocol and redirect other prints to standard error.

    The client parses every line as a protocol message.
    """
    sys.stdout.flush()
    taken = os.dup(1)
    os.dup2(2, 1)
    return TextIOWrapper(os.fdopen(taken, "wb"), encoding="utf-8")


async def answer_stdio(
    target: object, output: TextIO, by: By, options: ServerOptions | None = None
) -> None:
    """Serve agents as tools until the client closes standard input.

    Args:
        target: As for `build_app`.
        output: Stream that the client reads.
        by: The unit that each tool represents.
        options: As for `build_app`.
    """
    offer = Captured(by)
    app = build_app(target, options=options, dialects=[offer])
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(app.router.lifespan_context(app))
        server = ToolServer(agent_tools(offer.server.agents, by), _caller).server
        read, write = await stack.enter_async_context(stdio_server(stdout=anyio.wrap_file(output)))
        await server.run(read, write, server.create_initialization_options())


def _caller(_: object) -> ServerCallContext:
    return ServerCallContext(state={"headers": {}})
