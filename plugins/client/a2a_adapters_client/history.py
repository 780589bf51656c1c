"""`a2a-adapters history`: conversations held with `send` and `chat`."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

import typer

from a2a_adapters.cli.options import OutputForm, Verbose
from a2a_adapters.cli.terminal import echo, escaped, note, one_line
from a2a_adapters_client.aliases import complete_agent
from a2a_adapters_client.memory import Memory

history = typer.Typer(help="Show the conversations held on this machine.", no_args_is_help=True)


@history.command("list")
def list_(
    agent: Annotated[
        str, typer.Argument(help="Only with this agent.", autocompletion=complete_agent)
    ] = "",
    context: Annotated[str, typer.Option(help="Only of the conversation with this id.")] = "",
    search: Annotated[str, typer.Option(help="Only with this text.")] = "",
    number: Annotated[int, typer.Option("--number", "-n", min=1, help="How many.")] = 10,
    output: OutputForm = "text",
    _verbose: Verbose = False,
) -> None:
    """Print the last messages and their answers, oldest first.

    Examples:
      a2a-adapters history list -n 3
      a2a-adapters history list travel --search hotel -o json
    """
    memory = Memory()
    turns = memory.find(agent, context, search, number)
    if output == "json":
        listed = [asdict(turn) for turn in turns]
        echo(escaped(json.dumps(listed, indent=2, ensure_ascii=False)))
        return
    for turn in turns:
        heading = f"{turn.time}  {turn.agent}  {turn.state}  --context {turn.context_id}"
        echo(one_line(heading), dim=True)
        echo(f"> {turn.question}", bold=True)
        echo(f"{turn.answer}\n")
    if not turns:
        note("no conversations" if memory.is_on else "no conversations; `history on` keeps them")


@history.command()
def off(_verbose: Verbose = False) -> None:
    """Stop keeping conversations and the lines typed in chats; `history clear` deletes them.

    Examples:
      a2a-adapters history off
      a2a-adapters history off && a2a-adapters history clear
    """
    Memory().turn(is_on=False)


@history.command()
def on(_verbose: Verbose = False) -> None:
    """Keep conversations again, as by default.

    Examples:
      a2a-adapters history on
      a2a-adapters history on && a2a-adapters chat localhost:8000
    """
    Memory().turn(is_on=True)


@history.command()
def clear(_verbose: Verbose = False) -> None:
    """Delete the conversations and the lines typed in chats.

    Examples:
      a2a-adapters history clear
      a2a-adapters history off && a2a-adapters history clear
    """
    Memory().clear()
