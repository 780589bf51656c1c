"""Tables: for people on a terminal, with tabs for programs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from a2a_adapters.cli.terminal import echo, one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

_UNBOUNDED = 10_000
"""Columns of a terminal that no table fills."""


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
