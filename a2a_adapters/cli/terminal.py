"""Prints all output, and escapes characters with which agents could control the terminal."""

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

_CONTROLS = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Unicode categories: control and format characters, surrogates, line separators."""

_JOINERS = "\u200c\u200d"
"""Format characters that Persian words and emoji need."""


def echo(text: str = "", *, err: bool = False, nl: bool = True, **style: Any) -> None:
    """Print text with escapes for control characters other than line ends and tabs.

    Args:
        text: The text.
        err: Whether to print to standard error.
        nl: Whether to print a newline at the end.
        **style: As for `typer.style`.
    """
    typer.secho(visible(text), err=err, nl=nl, **style)


def note(text: str) -> None:
    """Print one line to standard error."""
    echo(one_line(text), err=True)


def visible(text: str) -> str:
    """Return text with escapes for characters that control the terminal or are invisible."""
    if text.isprintable():
        return text
    return "".join(map(_visible, text.replace("\r\n", "\n")))


def _visible(character: str) -> str:
    if category(character) in _CONTROLS and character not in f"\n\t{_JOINERS}":
        return character.encode("unicode_escape").decode()
    return character


def one_line(text: str) -> str:
    """Return text as one visible line, with escaped line ends."""
    return visible(text).replace("\n", "\\n").replace("\t", " ")


def escaped(text: str) -> str:
    """Return JSON text with JSON escapes for control characters."""
    return "".join(c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in text)


def guard() -> None:
    """Escape log records of libraries and uncaught exceptions, too."""
    logging.lastResort = _Notes(logging.WARNING)
    sys.excepthook = _print_exception


class _Notes(logging.Handler):
    """Prints log records as notes."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print a record."""
        note(self.format(record))


def _print_exception(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    echo("".join(traceback.format_exception(kind, error, trace)), err=True, nl=False)


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows, separated by tabs or on a terminal as a table that wraps long cells."""
    rows = [[one_line(cell) for cell in row] for row in rows]
    if not sys.stdout.isatty():
        for row in rows:
            echo("\t".join(row))
        return
    from rich.console import Console  # noqa: PLC0415 - a slow import

    Console().print(make_table(header, rows))


def make_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """Return a table without borders that wraps long cells."""
    from rich.markup import escape  # noqa: PLC0415 - as above
    from rich.table import Table  # noqa: PLC0415

    table = Table(box=None, pad_edge=False)
    for name in header:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*map(escape, row))
    return table
