"""Prints text. All of it goes through here: agents must not steer the terminal."""

from __future__ import annotations

import json
import logging
import sys
import traceback
from typing import TYPE_CHECKING, Any
from unicodedata import category

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from rich.table import Table

_STEERING = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Unicode categories: control and format characters, surrogates, separators of lines."""

_JOINERS = "\u200c\u200d"
"""Format characters that Persian words and emoji need."""

_UNBOUNDED = 10_000
"""Columns of a terminal that no table fills."""


def echo(text: str = "", *, err: bool = False, nl: bool = True, **style: Any) -> None:
    """Print text, with escapes for what could steer the terminal; ends of lines and tabs stay.

    Args:
        text: The text.
        err: Whether it goes to standard error.
        nl: Whether a line ends after it.
        **style: As for `typer.style`.
    """
    typer.secho(visible(text), err=err, nl=nl, **style)


def note(text: str) -> None:
    """Print one line to standard error."""
    echo(one_line(text), err=True)


def visible(text: str) -> str:
    """Return text with escapes for what could steer the terminal or hide something."""
    if text.isprintable():
        return text
    return "".join(_escaped(c) if _steers(c) else c for c in text.replace("\r\n", "\n"))


def one_line(text: str) -> str:
    """Return text as one visible line, its own ends of lines as escapes."""
    return visible(text).replace("\n", "\\n").replace("\t", " ")


def escaped(text: str) -> str:
    """Return JSON with escapes of JSON for what could steer the terminal."""
    return "".join(c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in text)


def guard() -> None:
    """Print what libraries log and uncaught exceptions in the same way."""
    logging.lastResort = _Notes(logging.WARNING)
    sys.excepthook = _print_exception


def _steers(character: str) -> bool:
    return category(character) in _STEERING and character not in f"\n\t{_JOINERS}"


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode()


class _Notes(logging.Handler):
    """Prints records as notes."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print a record."""
        note(self.format(record))


def _print_exception(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    echo("".join(traceback.format_exception(kind, error, trace)), err=True, nl=False)


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows of names: on a terminal each of a cell on its own line, and none of them cut."""
    rows = [[one_line(cell) for cell in row] for row in rows]
    if not sys.stdout.isatty():
        for row in rows:
            echo("\t".join(row))
        return
    from rich.console import Console  # noqa: PLC0415 - costs what programs need not wait for

    table = make_table(header, [[cell.replace(", ", "\n") for cell in row] for row in rows])
    width = Console(width=_UNBOUNDED, height=1).measure(table).maximum
    Console(width=width, height=1).print(table)


def make_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """Return a table without lines; what does not fit goes on below."""
    from rich.markup import escape  # noqa: PLC0415 - as above
    from rich.table import Table  # noqa: PLC0415

    table = Table(box=None, pad_edge=False)
    for name in header:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*map(escape, row))
    return table
