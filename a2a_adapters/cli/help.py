"""`a2a-adapters help` and `completion`: the command line about itself."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import typer
from typer.completion import get_completion_script  # type: ignore[attr-defined]

from a2a_adapters.cli.terminal import echo

COMPLETE = "_A2A_ADAPTERS_COMPLETE"
"""The variable by which a shell asks what a line may go on with."""

_NAME = "a2a-adapters"


def help_(
    context: typer.Context,
    command: Annotated[
        list[str] | None, typer.Argument(help="As in `task get`; by default all are shown.")
    ] = None,
) -> None:
    """Show how a command is used."""
    here: Any = context.find_root()
    for word in command or []:
        if not hasattr(here.command, "commands"):
            raise typer.BadParameter(f"there is no command {' '.join(command or [])!r}")
        _, inner, _ = here.command.resolve_command(here, [word])
        here = type(here)(inner, parent=here, info_name=word)
    echo(here.command.get_help(here))


def completion(shell: Literal["bash", "zsh", "fish", "powershell"]) -> None:
    """Print what has a shell complete commands: put it where yours looks for it."""
    echo(get_completion_script(prog_name=_NAME, complete_var=COMPLETE, shell=shell))
