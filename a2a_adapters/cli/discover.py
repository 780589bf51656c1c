"""`a2a-adapters discover`: which agents a host has."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from a2a_adapters.cli.addresses import as_url
from a2a_adapters.cli.exits import FAILED, UNREACHABLE, fail
from a2a_adapters.cli.options import Verbose
from a2a_adapters.cli.tables import print_table
from a2a_adapters.errors import RemoteAgentError


def discover(
    host: Annotated[str, typer.Argument(metavar="HOST", show_default=False)],
    _verbose: Verbose = False,
) -> None:
    """List the agents of a host: those of its AI Catalog, or the only one."""
    from a2a_adapters.calling import RemoteAgent  # noqa: PLC0415 - as in `call`
    from a2a_adapters.protocol.shown import quote  # noqa: PLC0415

    url = as_url(host)
    try:
        agents = asyncio.run(RemoteAgent.discover(url if "://" in url else f"https://{url}"))
    except RemoteAgentError as error:
        fail(str(error), UNREACHABLE)
    if not agents:
        fail(f"{url} lists no agents", FAILED)
    rows = [(quote(each.name), quote(each.address), each.description) for each in agents]
    print_table(("agent", "address", "description"), rows)
