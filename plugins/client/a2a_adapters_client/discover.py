"""`a2a-adapters discover`: lists the agents of a host."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Annotated

import typer

from a2a_adapters import RemoteAnswerError
from a2a_adapters.calling.errors import NoCardError
from a2a_adapters.cli.terminal import echo, escaped, print_table
from a2a_adapters.contract.errors import ConfigurationError
from a2a_adapters_client.command import ClientCommand, client_command

if TYPE_CHECKING:
    from collections.abc import Sequence

    from a2a_adapters.calling.agent import ListedAgent
    from a2a_adapters_client.access import Access

# ruff: noqa: PLC0415 - as in `task`


app = typer.Typer()


@app.command(cls=ClientCommand)
@client_command()
def discover(
    access: Access,
    host: Annotated[str, typer.Argument(metavar="HOST", show_default=False)] = "",
) -> None:
    """List the agents of a host from its AI Catalog, or its single agent.

    Examples:
      a2a-adapters discover localhost:8000
      a2a-adapters discover https://agents.example.com -o json
    """
    from a2a_adapters_check.host import as_web_url

    if not (host or access.agent_card):
        raise ConfigurationError("name a host")
    access.take([host] if host else [], most=1)
    found = asyncio.run(_discover(as_web_url(access.agent_card), access))
    if access.is_json:
        listed = [
            {"name": each.name, "address": each.address, "description": each.description}
            for each in found
        ]
        echo(escaped(json.dumps(listed, indent=2, ensure_ascii=False)))
    else:
        _print(found)


def _print(found: Sequence[ListedAgent]) -> None:
    from a2a_adapters.contract.text import quote

    rows = [(quote(each.name), quote(each.address), each.description) for each in found]
    print_table(("agent", "address", "description"), rows)


async def _discover(url: str, access: Access) -> Sequence[ListedAgent]:
    from a2a_adapters import RemoteAgent
    from a2a_adapters.calling.card import agent_url
    from a2a_adapters_client.connect import remote_options
    from a2a_adapters_client.credentials import Credentials

    options = remote_options(access)
    credentials = Credentials(access, options)
    auth = credentials if credentials.is_needed(agent_url(url)) else None
    try:
        found = await RemoteAgent.discover(url, auth=auth, options=options)
    except RemoteAnswerError as error:
        raise NoCardError(str(error)) from error
    if not found:
        raise RemoteAnswerError(f"{url} lists no agents")
    return found
