"""The Model Context Protocol: agents as tools of MCP clients, and MCP servers as agents.

`dialects=["mcp"]` offers served agents at `/mcp` of the same port, `a2a-adapters mcp` offers
agents over stdio, and `serve(McpServer("npx ..."))` serves an MCP server as an agent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_adapters import MissingExtraError
from a2a_adapters.plugin import hookimpl, lazy_names

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from a2a_adapters.dialects import DialectRoutes, DialectServer
    from a2a_adapters_mcp.offering.offer import McpTools
    from a2a_adapters_mcp.serving.server import McpServer

__all__ = ["McpServer", "McpTools"]

_DIALECT = "mcp"
_PREFIX = "mcp:"


@hookimpl
def a2a_routes(dialect: object, server: DialectServer) -> DialectRoutes | None:
    """Return the route for MCP clients."""
    if dialect != _DIALECT and type(dialect).__module__.partition(".")[0] != __name__:
        return None
    from a2a_adapters.dialects import DialectRoutes  # noqa: PLC0415 - it costs a second
    from a2a_adapters_mcp.offering.offer import Captured, McpTools  # noqa: PLC0415

    if isinstance(dialect, Captured):
        dialect.server = server
        return DialectRoutes()
    try:
        from a2a_adapters_mcp.offering.http import mcp_routes  # noqa: PLC0415 - an extra
    except ModuleNotFoundError as error:
        raise MissingExtraError("the dialect 'mcp'", "mcp") from error
    return mcp_routes(server, dialect if isinstance(dialect, McpTools) else McpTools())


@hookimpl
def a2a_target(word: str) -> object | None:
    """Return the MCP server for `mcp:COMMAND` or `mcp:URL`."""
    return (
        __getattr__("McpServer")(word.removeprefix(_PREFIX)) if word.startswith(_PREFIX) else None
    )


@hookimpl
def a2a_frameworks() -> Sequence[str]:
    """Return the frameworks that this plugin supports."""
    return ("mcp",)


@hookimpl
def a2a_commands(
    load: Callable[[Sequence[str]], object],
) -> Mapping[str, Callable[..., None]]:
    """Return the command `mcp`."""
    from a2a_adapters_mcp.command import command  # noqa: PLC0415

    return {"mcp": command(load)}


__getattr__ = lazy_names(
    __name__,
    {"McpServer": "serving.server", "McpTools": "offering.offer"},
    frameworks=["mcp"],
    extra="mcp",
)
