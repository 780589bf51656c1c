"""`a2a-adapters plugins`: what is installed here."""

from __future__ import annotations

from importlib import metadata

import typer

from a2a_adapters.cli.options import Verbose
from a2a_adapters.cli.tables import print_table
from a2a_adapters.plugins import installed_plugins


def plugins(_verbose: Verbose = False) -> None:
    """List the plugins found here, their frameworks, and why one is not loaded."""
    statuses = installed_plugins().statuses()
    rows = [
        (
            status.name,
            status.version,
            status.value,
            ", ".join(status.hooks),
            ", ".join(map(_installed, status.frameworks)),
            status.problem or "loaded",
        )
        for status in statuses
    ]
    print_table(("plugin", "version", "module", "hooks", "frameworks", "status"), rows)
    if any(status.problem for status in statuses):
        raise typer.Exit(1)


def _installed(distribution: str) -> str:
    try:
        return f"{distribution} {metadata.version(distribution)}"
    except metadata.PackageNotFoundError:
        return f"{distribution} (not installed)"
