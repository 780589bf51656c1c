"""Options that several commands have, and how their values are read."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

import typer

from a2a_adapters.contract.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "": 1.0}

_ONE = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|)")


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


def seconds(text: str | float) -> float:
    """Return the seconds of `90`, `1m30s`, `1.5h` or `200ms`.

    Raises:
        typer.BadParameter: It is no time, or none at all.
    """
    found = _ONE.findall(str(text))
    if "".join(number + unit for number, unit in found) != str(text) or not found:
        raise typer.BadParameter(f"{text!r} is no time, as in 90, 30s, 5m or 1h30m")
    total = sum(float(number) * _SECONDS[unit] for number, unit in found)
    if total <= 0:
        raise typer.BadParameter("it has to be longer than nothing")
    return float(total)


def read_parameters(lines: Sequence[str]) -> Mapping[str, str]:
    """Return service parameters from lines as in HTTP.

    Raises:
        ConfigurationError: A line is none.
    """
    parameters = {}
    for line in lines:
        name, separator, value = line.partition(":")
        if not separator or not name.strip():
            raise ConfigurationError("--svc-param is of the form 'Name: value'")
        parameters[name.strip()] = value.strip()
    return parameters


def nearest(word: str, known: Collection[str]) -> str:
    """Say which of the words that there are may have been meant; all of them if none is near."""
    found = difflib.get_close_matches(word.lower(), known, 1, 0.5)
    return f"did you mean {found[0]}?" if found else f"there are {', '.join(known)}"
