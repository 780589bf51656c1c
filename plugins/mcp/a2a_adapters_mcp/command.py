"""`a2a-adapters mcp`: offers agents as tools to MCP clients."""

from __future__ import annotations

import os
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from a2a_adapters import MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class By(StrEnum):
    """The unit that each tool represents."""

    AGENT = "agent"
    SKILL = "skill"


Agents = Annotated[
    list[str], typer.Argument(metavar="[NAME=]URL|MODULE:ATTRIBUTE", show_default=False)
]
Http = Annotated[
    bool, typer.Option("--http", help="Serve streamable HTTP at /mcp instead of stdio.")
]
Host = Annotated[str, typer.Option(help="Host to listen on.")]
Port = Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 picks a free one.")]
Tools = Annotated[By, typer.Option(help="Offer one tool per agent or per skill.")]
Header = Annotated[
    list[str] | None,
    typer.Option(
        help="Header for a single remote agent, such as 'X-API-Key: secret'. Repeatable; or one "
        "per line in A2A_ADAPTERS_HEADER.",
    ),
]
KeepGoing = Annotated[bool, typer.Option("--keep-going", help="Skip agents that cannot be opened.")]


def command(load: Callable[[Sequence[str]], object]) -> Callable[..., None]:
    """Return the command.

    Args:
        load: Loads targets from arguments, like `serve`.
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
        """Offer agents as tools to the MCP client that starts this command, or over HTTP.

        Examples:
          a2a-adapters mcp http://localhost:8000
          a2a-adapters mcp app:agent --http --port 8080
        """
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

    # Typer resolves annotations in the function's module.
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
