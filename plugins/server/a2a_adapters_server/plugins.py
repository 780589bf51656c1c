"""`a2a-adapters plugins`: lists the installed plugins."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from importlib import metadata
from typing import TYPE_CHECKING

import typer

from a2a_adapters.cli.options import OutputForm, Verbose
from a2a_adapters.cli.terminal import echo, print_table
from a2a_adapters.contract.plugins import installed_plugins

if TYPE_CHECKING:
    from collections.abc import Sequence

    from a2a_adapters.contract.plugins import PluginStatus


def plugins(output: OutputForm = "text", _verbose: Verbose = False) -> None:
    """List the installed plugins with their frameworks and problems.

    Modules and hooks are listed as JSON, or without a terminal.

    Examples:
      a2a-adapters plugins
      a2a-adapters plugins -o json
    """
    statuses = installed_plugins().statuses()
    if output == "json":
        echo(json.dumps([asdict(status) for status in statuses], indent=2))
    else:
        _print(statuses)
    if any(status.problem for status in statuses):
        raise typer.Exit(1)


def _print(statuses: Sequence[PluginStatus]) -> None:
    columns = ["plugin", "version", "module", "hooks", "frameworks", "status"]
    rows = [
        [
            status.name,
            status.version,
            status.value,
            ", ".join(status.hooks),
            ", ".join(map(_installed, status.frameworks)),
            status.problem or "loaded",
        ]
        for status in statuses
    ]
    if sys.stdout.isatty():
        for row in (columns, *rows):
            del row[2:4]
    print_table(columns, rows)


def _installed(distribution: str) -> str:
    try:
        return f"{distribution} {metadata.version(distribution)}"
    except metadata.PackageNotFoundError:
        return f"{distribution} (not installed)"
