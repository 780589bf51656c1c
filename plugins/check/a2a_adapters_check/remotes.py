"""Agents that a file with settings names, in its tables `[remote.NAME]`."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from a2a_adapters.cli.terminal import echo, one_line
from a2a_adapters.contract.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from a2a_adapters.calling.fleet import RemoteSettings

_VARIABLE = "A2A_ADAPTERS_CONFIG"
_FILES = ("a2a-adapters.toml", "pyproject.toml")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


@dataclass(frozen=True, slots=True)
class NamedRemote:
    """An agent that a file names.

    Attributes:
        settings: Its settings.
        file: The file.
        is_trusted: Whether the user has named the file, which may otherwise come from elsewhere.
    """

    settings: RemoteSettings
    file: Path
    is_trusted: bool

    def headers(self, given: Sequence[str]) -> dict[str, str]:
        """Return the headers with the credentials for the agent, unless others are given.

        Args:
            given: The names of credentials that the user has given, which replace them.

        Raises:
            ConfigurationError: A variable is not set, or the user does not want to send secrets to
                the agent of a file that may come from elsewhere.
        """
        own = {} if given else self.settings.headers()
        variables = [self.settings.bearer_env, *self.settings.headers_env.values()]
        secrets = given or [f"${name}" for name in variables if name]
        if secrets and not self.is_trusted:
            remedy = f"set {_VARIABLE}={self.file.name}"
            confirm(self.file, self.settings.url, ", ".join(secrets), remedy)
        return own


def find_remote(name: str) -> NamedRemote | None:
    """Return the agent of this name in the user's settings, or in the settings of this folder.

    Raises:
        ConfigurationError: A file cannot be read, or a setting is invalid.
    """
    if not _NAME.fullmatch(name):
        return None
    chosen = os.environ.get(_VARIABLE, "")
    files = [chosen] if chosen.endswith(".toml") else _FILES
    for file in filter(_is_own, map(Path, files)):
        from a2a_adapters.calling.fleet import read_remotes  # noqa: PLC0415 - imports the client

        if settings := read_remotes(file).get(name):
            return NamedRemote(settings, file, is_trusted=str(file) == chosen)
    return None


def _is_own(file: Path) -> bool:
    """Return whether a file exists and belongs to the user."""
    return file.is_file() and (not hasattr(os, "getuid") or file.stat().st_uid == os.getuid())


def confirm(file: Path, agent: str, secrets: str, remedy: str) -> None:
    """Ask the user at a terminal whether to send secrets to the agent that a file selects.

    Raises:
        ConfigurationError: The user does not agree, or there is no terminal.
    """
    if sys.stdin.isatty():
        echo(one_line(f"{file} selects the agent {agent}."), err=True)
        if typer.confirm(f"Send it your {secrets}?", err=True):
            return
    raise ConfigurationError(
        f"{file} selects the agent {agent}; to send it your {secrets}, {remedy}"
    )
