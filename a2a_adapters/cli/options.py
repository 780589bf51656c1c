"""Options shared by several commands, and parsers of their values."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

import typer

from a2a_adapters.contract.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "": 1.0}

_ONE = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|)")


@dataclass
class Settings:
    """Settings of the whole command line; the context's `obj`."""

    verbose: bool = False


def _set_verbose(context: typer.Context, value: bool) -> None:
    if value:
        context.find_object(Settings).verbose = True  # type: ignore[union-attr]


Verbose = Annotated[
    bool,
    typer.Option(
        "--verbose",
        callback=_set_verbose,
        expose_value=False,
        is_eager=True,
        help="Show the traceback of errors.",
    ),
]
"""An option of every command, so that its position does not matter."""


OutputForm: TypeAlias = Annotated[
    Literal["text", "json"], typer.Option("--output", "-o", help="Text, or one JSON document.")
]
"""The output format of commands that print data."""


def seconds(text: str | float) -> float:
    """Parse a duration such as `90`, `1m30s`, `1.5h` or `200ms`.

    Raises:
        typer.BadParameter: It is not a positive duration.
    """
    found = _ONE.findall(str(text))
    if "".join(number + unit for number, unit in found) != str(text) or not found:
        raise typer.BadParameter(f"{text!r} is not a duration such as 90, 30s, 5m or 1h30m")
    total = sum(float(number) * _SECONDS[unit] for number, unit in found)
    if total <= 0:
        raise typer.BadParameter("the duration must be positive")
    return float(total)


Bearer = Annotated[
    str,
    typer.Option(
        "--bearer",
        help="Bearer token. Prefer the variable: other users can read command lines.",
        envvar="A2ACLI_BEARER",
        show_default=False,
    ),
]
"""The token of commands that call an agent."""


Proxy = Annotated[
    str | None,
    typer.Option("--proxy", help="URL of a proxy, '' for none. Default: HTTPS_PROXY and its like."),
]
"""The proxy of commands that call an agent."""


def read_parameters(lines: Sequence[str], bearer: str = "") -> Mapping[str, str]:
    """Parse service parameters of the form `Name: value`, and add a token.

    Raises:
        ConfigurationError: A line has another form.
    """
    parameters = {"Authorization": f"Bearer {bearer}"} if bearer else {}
    for line in lines:
        name, separator, value = line.partition(":")
        if not separator or not name.strip():
            raise ConfigurationError("--svc-param must have the form 'Name: value'")
        parameters[name.strip()] = value.strip()
    return parameters


def suggestion(word: str, known: Collection[str]) -> str:
    """Return a suggestion for a mistyped word: a similar known word, or else all of them."""
    found = difflib.get_close_matches(word.lower(), known, 1, 0.5)
    return f"did you mean {found[0]}?" if found else f"there are {', '.join(known)}"
