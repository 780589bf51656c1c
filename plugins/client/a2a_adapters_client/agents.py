"""`a2a-adapters agents`: the user's names for agents."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer

from a2a_adapters.cli.options import OutputForm, Verbose
from a2a_adapters.cli.terminal import echo, escaped, note, print_table
from a2a_adapters_client.aliases import Aliases, complete_agent, token_for

# ruff: noqa: PLC0415 - as in `task`

agents = typer.Typer(help="Name agents, for `send NAME` and `chat NAME`.", no_args_is_help=True)


@agents.command()
def add(
    name: Annotated[str, typer.Argument(help="The name.", show_default=False)],
    address: Annotated[
        str, typer.Argument(help="A host, a URL, or HOST#NAME of a catalog.", show_default=False)
    ],
    token: Annotated[
        str,
        typer.Option(
            help="Bearer token, stored in the keyring; - reads it from standard input.",
            show_default=False,
        ),
    ] = "",
    _verbose: Verbose = False,
) -> None:
    """Name an agent, replacing any other of this name.

    Examples:
      a2a-adapters agents add travel https://travel.example.com
      a2a-adapters agents add travel localhost:8000 --token -
    """
    from a2a_adapters_check.host import as_web_url

    from a2a_adapters.calling.card import agent_url

    agent_url(as_web_url(address.partition("#")[0]))  # raises an error for other texts
    Aliases().add(name, as_web_url(address), _read(token))
    note(f"try: a2a-adapters chat {name}")


def _read(token: str) -> str:
    match token:
        case "-" if sys.stdin.isatty():
            return str(typer.prompt("Token", hide_input=True, err=True))
        case "-":
            return sys.stdin.readline().strip()
        case _:
            return token


@agents.command("list")
def list_(output: OutputForm = "text", _verbose: Verbose = False) -> None:
    """List the names with their addresses, and whether there is a token.

    Examples:
      a2a-adapters agents list
      a2a-adapters agents list -o json
    """
    known = Aliases().read()
    rows = [(name, address, bool(token_for(address))) for name, address in known.items()]
    if output == "json":
        listed = [dict(zip(("name", "address", "hasToken"), row, strict=True)) for row in rows]
        echo(escaped(json.dumps(listed, indent=2, ensure_ascii=False)))
    elif rows:
        shown = [(name, address, "yes" if has else "no") for name, address, has in rows]
        print_table(("agent", "address", "token"), shown)
    else:
        note("no agents; name one: a2a-adapters agents add NAME URL")


@agents.command()
def remove(
    name: Annotated[
        str, typer.Argument(help="The name.", show_default=False, autocompletion=complete_agent)
    ],
    _verbose: Verbose = False,
) -> None:
    """Forget an agent and its token.

    Examples:
      a2a-adapters agents remove travel
      a2a-adapters agents remove old-travel
    """
    Aliases().remove(name)
