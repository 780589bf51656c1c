"""Options that every command has."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import typer


@dataclass
class Settings:
    """What holds for the whole command line; the context's `obj`."""

    verbose: bool = False


def _set_verbose(context: typer.Context, value: bool) -> None:
    if value:
        context.find_object(Settings).verbose = True  # type: ignore[union-attr]


Verbose = Annotated[
    bool,
    typer.Option(
        "--verbose",
        "-v",
        callback=_set_verbose,
        expose_value=False,
        is_eager=True,
        help="Show the traceback of what goes wrong.",
    ),
]
"""It is an option of every command, so that it can stand anywhere on the command line."""

ConfigFile = Annotated[
    Path | None,
    typer.Option(
        "--config",
        envvar="A2A_ADAPTERS_CONFIG",
        help="Settings; by default a2a-adapters.toml, pyproject.toml or langgraph.json.",
    ),
]
"""The file with what is served, and how."""

OutputForm: TypeAlias = Annotated[
    Literal["text", "json"],
    typer.Option("--output", "-o", help="For people, or one document of JSON."),
]
"""How data is printed."""
