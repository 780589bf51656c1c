"""Settings from `.env` files (a2a-cli 0.2, section 8.3)."""

from __future__ import annotations

import os
from pathlib import Path

import typer
from dotenv import dotenv_values, find_dotenv

PREFIX = "A2ACLI_"
"""What the names of variables begin with."""

SECRETS = frozenset({f"{PREFIX}BEARER", f"{PREFIX}API_KEY", f"{PREFIX}SVC_PARAM"})
GLOBAL_FILE = Path("~/.config/a2a-cli/.env")


def load_variables(config: Path | None) -> Path | None:
    """Set the variables of `.env` files that are not set; return `config`.

    Raises:
        typer.BadParameter: There is no file `config`.
    """
    for name, (value, _) in read_variables(config).items():
        os.environ.setdefault(name, value)
    return config


def read_variables(config: Path | None = None) -> dict[str, tuple[str, Path]]:
    """Return what files say, and which of them: `config` or the local `.env`, then the global one.

    The local one is that of this folder or of one above, if it is the user's own.

    Raises:
        typer.BadParameter: There is no file `config`.
    """
    if config is not None and not config.is_file():
        raise typer.BadParameter(f"there is no file {config}")
    local = config or _local()
    files = [file for file in (local, GLOBAL_FILE.expanduser()) if file and file.is_file()]
    found: dict[str, tuple[str, Path]] = {}
    for file in files:
        for name, value in dotenv_values(file, interpolate=False).items():
            if name.startswith(PREFIX) and name != f"{PREFIX}STREAM" and value is not None:
                found.setdefault(name, (value, file))
    return found


def _local() -> Path | None:
    """Return the nearest `.env`; one of somebody else says nothing, whatever folder this is."""
    name = find_dotenv(usecwd=True)
    if not name or (hasattr(os, "getuid") and Path(name).stat().st_uid != os.getuid()):
        return None
    return Path(name)
