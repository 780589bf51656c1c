"""The console: a web page for talking to agents, made of static files without a build."""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_adapters.plugin import hookimpl, lazy_names

if TYPE_CHECKING:
    from collections.abc import Mapping

    from a2a_adapters.contract.dialect_routes import DialectRoutes, DialectServer
    from a2a_adapters_console.look import Console
    from a2a_adapters_console.pages import ConsoleAgent, console_routes

__all__ = ["Console", "ConsoleAgent", "console_routes"]

__getattr__ = lazy_names(
    __name__,
    {"Console": "look", **dict.fromkeys(("ConsoleAgent", "console_routes"), "pages")},
)


@hookimpl
def a2a_routes(dialect: object, server: DialectServer) -> DialectRoutes | None:
    """Return the console's routes for a server's agents."""
    from a2a_adapters_console.look import Console  # noqa: PLC0415

    if dialect != "console" and not isinstance(dialect, Console):
        return None
    from a2a_adapters_console.pages import ConsoleAgent, console_routes  # noqa: PLC0415

    agents = [ConsoleAgent(agent.about.name, agent.path) for agent in server.agents.values()]
    return console_routes(agents, dialect if isinstance(dialect, Console) else Console())


@hookimpl
def a2a_commands() -> Mapping[str, str]:
    """Return the command `console` for remote agents."""
    return {"console": "a2a_adapters_console.command:console"}
