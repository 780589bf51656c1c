"""Stdio: offers the tools to the client that started this process."""

from __future__ import annotations

import os
import sys
from contextlib import AsyncExitStack
from io import TextIOWrapper
from typing import TYPE_CHECKING

import anyio
from a2a.server.context import ServerCallContext
from mcp.server.stdio import stdio_server

from a2a_adapters import ServerOptions, build_app
from a2a_adapters_mcp.offering.offer import Captured
from a2a_adapters_mcp.offering.server import ToolServer
from a2a_adapters_mcp.offering.tools import agent_tools

if TYPE_CHECKING:
    from typing import TextIO

    from a2a_adapters_mcp.offering.tools import By


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
