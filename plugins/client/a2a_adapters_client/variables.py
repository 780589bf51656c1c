"""Settings from `.env` files (a2a-cli 0.2, section 8.3)."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import typer
from dotenv import dotenv_values, find_dotenv

from a2a_adapters.cli.terminal import echo, note, one_line
from a2a_adapters.contract.errors import ConfigurationError

PREFIX = "A2ACLI_"
"""What the names of variables begin with."""

SECRETS = frozenset({f"{PREFIX}BEARER", f"{PREFIX}API_KEY", f"{PREFIX}SVC_PARAM"})
GLOBAL_FILE = Path("~/.config/a2a-cli/.env")

_CREDENTIALS = ("bearer", "api_key", "svc_param", "client_cert", "client_key", "client_secret")
_of_folder: dict[str, Path] = {}
"""The variables that the `.env` of a folder has set."""


def load_variables(config: Path | None) -> Path | None:
    """Set the variables of `.env` files that are not set; return `config`.

    Raises:
        typer.BadParameter: There is no file `config`.
    """
    for name, (value, file) in read_variables(config).items():
        if name not in os.environ:
            os.environ[name] = value
            if file not in (config, GLOBAL_FILE.expanduser()):
                _of_folder[name] = file
    return config


def check_trust(context: typer.Context) -> None:
    """Keep the `.env` of a folder from choosing who gets the user's credentials.

    The command line, the environment, `--config` and the global file are the user's. The file of
    a folder came with the folder: the agent that it names gets its own credentials alone, unless
    the user agrees at a terminal, and it cannot turn off the verification of certificates.

    Raises:
        ConfigurationError: The agent that the folder names would get credentials of the user.
    """
    if (file := _source(context, "insecure")) and context.params["insecure"]:
        note(f"{PREFIX}INSECURE in {file} is ignored; --insecure does not verify certificates")
        context.params["insecure"] = False
    file = _source(context, "agent_card")
    secrets = [
        name for name in _CREDENTIALS if context.params.get(name) and _source(context, name) is None
    ]
    if file is None or not secrets:
        return
    agent = context.params["agent_card"]
    named = ", ".join(f"--{name.replace('_', '-')}" for name in secrets)
    if sys.stdin.isatty():
        echo(one_line(f"{file} names the agent {agent}."), err=True)
        if typer.confirm(f"Send it your {named}?", err=True):
            return
    raise ConfigurationError(
        f"{file} names the agent {agent}, which does not get your {named}: name it by --agent-card"
    )


def _source(context: typer.Context, name: str) -> Path | None:
    """Return the file of a folder that an option's value comes from, None if it is another's."""
    source = context.get_parameter_source(name)
    if source is None or source.name != "ENVIRONMENT":
        return None
    return _of_folder.get(PREFIX + name.upper())


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
