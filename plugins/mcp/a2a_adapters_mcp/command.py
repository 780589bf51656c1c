"""`a2a-adapters mcp`: agents as tools of MCP clients."""

from __future__ import annotations

import os
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from a2a_adapters import MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class By(StrEnum):
    """What there is a tool for."""

    AGENT = "agent"
    SKILL = "skill"


Agents = Annotated[
    list[str], typer.Argument(metavar="[NAME=]URL|MODULE:ATTRIBUTE", show_default=False)
]
Http = Annotated[
    bool, typer.Option("--http", help="Listen for streamable HTTP at /mcp, not on stdio.")
]
Host = Annotated[str, typer.Option(help="Where to listen.")]
Port = Annotated[int, typer.Option(min=0, max=65535, help="Where to listen; 0 takes a free port.")]
Tools = Annotated[By, typer.Option(help="Make a tool of every agent, or of every skill.")]
Header = Annotated[
    list[str] | None,
    typer.Option(
        help="A header for the one remote agent, as in 'X-API-Key: secret'; or, a header a line, "
        "in A2A_ADAPTERS_HEADER.",
    ),
]
KeepGoing = Annotated[
    bool, typer.Option("--keep-going", help="Offer the other agents when one cannot be opened.")
]


def command(load: Callable[[Sequence[str]], object]) -> Callable[..., None]:
    """Return the command.

    Args:
        load: Makes targets of words, as `serve` does.
    """

    def mcp(
        agents: Agents,
        http: Http = False,
        host: Host = "127.0.0.1",
        port: Port = 8000,
        by: Tools = By.AGENT,
        header: Header = None,
        keep_going: KeepGoing = False,
    ) -> None:
        """Offer agents as tools: to the MCP client that starts this, or to all over HTTP."""
        try:
            from a2a_adapters_mcp.offering import running  # noqa: PLC0415 - an extra
        except ModuleNotFoundError as error:
            raise MissingExtraError("a2a-adapters mcp", "mcp") from error
        lines = header or os.environ.get("A2A_ADAPTERS_HEADER", "").splitlines()
        offered = running.Offered(agents, lines, load, keep_going=keep_going)
        if http:
            running.over_http(offered, host, port, by.value)
        else:
            running.over_stdio(offered, by.value)

    # Typer looks the names of annotations up where a function was made.
    mcp.__annotations__ = {
        "agents": Agents,
        "http": Http,
        "host": Host,
        "port": Port,
        "by": Tools,
        "header": Header,
        "keep_going": KeepGoing,
        "return": None,
    }
    return mcp
