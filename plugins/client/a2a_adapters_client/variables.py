"""Settings from `.env` files (a2a-cli 0.2, section 8.3)."""

from __future__ import annotations

import os
from pathlib import Path

import typer
from dotenv import dotenv_values, find_dotenv

from a2a_adapters.cli.terminal import note

PREFIX = "A2ACLI_"
"""Prefix of the variables."""

SECRETS = frozenset({f"{PREFIX}BEARER", f"{PREFIX}API_KEY", f"{PREFIX}SVC_PARAM"})
GLOBAL_FILE = Path("~/.config/a2a-cli/.env")

CREDENTIALS = ("bearer", "api_key", "svc_param", "client_cert", "client_key", "client_secret")
_of_folder: dict[str, Path] = {}
"""Variables set by a folder's `.env`, by name."""


def load_variables(config: Path | None) -> Path | None:
    """Load unset variables from `.env` files; return `config`.

    Raises:
        typer.BadParameter: The file `config` does not exist.
    """
    for name, (value, file) in read_variables(config).items():
        if name not in os.environ:
            os.environ[name] = value
            if file not in (config, GLOBAL_FILE.expanduser()):
                _of_folder[name] = file
    return config


def check_trust(context: typer.Context) -> None:
    """Prevent a folder's `.env` from redirecting the user's credentials.

    The command line, the environment, `--config` and the global file belong to the user. A
    folder's file may come from elsewhere: its agent gets only the credentials in that file, unless
    the user agrees at a terminal, and it cannot disable certificate verification.

    Raises:
        ConfigurationError: The folder's agent would get the user's credentials.
    """
    if (file := _source(context, "insecure")) and context.params["insecure"]:
        note(f"{PREFIX}INSECURE in {file} is ignored; pass --insecure instead")
        context.params["insecure"] = False
    file = _source(context, "agent_card")
    secrets = [
        name for name in CREDENTIALS if context.params.get(name) and _source(context, name) is None
    ]
    if file is None or not secrets:
        return
    agent = context.params["agent_card"]
    from a2a_adapters_check.remotes import confirm  # noqa: PLC0415 - of another command

    confirm(file, agent, ", ".join(map(as_option, secrets)), "pass --agent-card")


def as_option(name: str) -> str:
    """Return the option of a parameter."""
    return f"--{name.replace('_', '-')}"


def _source(context: typer.Context, name: str) -> Path | None:
    """Return the folder's file that set an option, None for other origins."""
    source = context.get_parameter_source(name)
    if source is None or source.name != "ENVIRONMENT":
        return None
    return _of_folder.get(PREFIX + name.upper())


def read_variables(config: Path | None = None) -> dict[str, tuple[str, Path]]:
    """Return values and their files: `config` or the local `.env`, then the global one.

    The local file is that of this or a parent folder, if the user owns it.

    Raises:
        typer.BadParameter: The file `config` does not exist.
    """
    if config is not None and not config.is_file():
        raise typer.BadParameter(f"file not found: {config}")
    local = config or _local()
    files = [file for file in (local, GLOBAL_FILE.expanduser()) if file and file.is_file()]
    found: dict[str, tuple[str, Path]] = {}
    for file in files:
        for name, value in dotenv_values(file, interpolate=False).items():
            if name.startswith(PREFIX) and name != f"{PREFIX}STREAM" and value is not None:
                found.setdefault(name, (value, file))
    return found


def _local() -> Path | None:
    """Return the nearest `.env`, ignored if another user owns it."""
    name = find_dotenv(usecwd=True)
    if not name or (hasattr(os, "getuid") and Path(name).stat().st_uid != os.getuid()):
        return None
    return Path(name)
