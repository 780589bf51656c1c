"""The command line: `help`, and the commands of plugins."""

from __future__ import annotations

import io
import os
import sys
from importlib.metadata import version
from typing import Annotated

import typer
from typer.completion import completion_init  # type: ignore[attr-defined]

from a2a_adapters.cli.commands import COMPLETE, CommandGroup, help_
from a2a_adapters.cli.exits import CommandError, end
from a2a_adapters.cli.options import Settings, Verbose
from a2a_adapters.cli.terminal import echo, guard
from a2a_adapters.contract.errors import A2AAdaptersError

__all__ = ["app", "main"]

app = typer.Typer(
    name="a2a-adapters",
    cls=CommandGroup,
    help="Serve agents of any framework over A2A, and call remote A2A agents.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode=None,  # its tables take half a second, and cut names in narrow terminals
)

app.command("help")(help_)


def _show_version(value: bool) -> None:
    if value:
        echo(f"a2a-adapters {version('a2a-adapters')}")
        raise typer.Exit


@app.callback()
def _options(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", "-v", callback=_show_version, is_eager=True, help="Show the version."
        ),
    ] = False,
    _verbose: Verbose = False,
) -> None: ...


def main() -> None:
    """Run the command line; errors are printed as one line that says what to do."""
    settings = Settings()
    guard()
    if sys.stdin is None:  # closed by the parent process
        sys.stdin = io.StringIO()
    if COMPLETE in os.environ:  # a shell requests completions
        completion_init()
    try:
        app(obj=settings, color=False if os.environ.get("NO_COLOR") else None)
    except (A2AAdaptersError, CommandError) as error:
        end(error, verbose=settings.verbose)
    except OSError as error:
        sys.stdout = io.StringIO()  # Python flushes it at exit, which would fail again
        end(error, verbose=settings.verbose)
