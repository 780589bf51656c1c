"""The user's names for agents, and their tokens in the keyring of the operating system."""

from __future__ import annotations

import re
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from pydantic import TypeAdapter, ValidationError

from a2a_adapters.contract.errors import ConfigurationError, MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Iterator

_SERVICE = "a2a-adapters"
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,62}")
_ALIASES = TypeAdapter(dict[str, str])


class Aliases:
    """The agents that the user has named: a file with their addresses, without secrets."""

    def __init__(self) -> None:
        self._path = Path(typer.get_app_dir(_SERVICE)) / "agents.json"

    def read(self) -> dict[str, str]:
        """Return the addresses by name.

        Raises:
            ConfigurationError: The file cannot be read.
        """
        try:
            return _ALIASES.validate_json(self._path.read_bytes())
        except FileNotFoundError:
            return {}
        except (OSError, ValidationError) as error:
            raise ConfigurationError(f"{self._path} cannot be read; remove it") from error

    def add(self, name: str, address: str, token: str) -> None:
        """Name an agent, replacing any other of this name.

        Args:
            name: The name.
            address: The agent's address.
            token: A bearer token for the keyring; "" for none.

        Raises:
            ConfigurationError: The name is not a word, the file cannot be written, or there is
                no keyring.
            MissingExtraError: A token needs keyring, which is not installed.
        """
        if not _NAME.fullmatch(name):
            raise ConfigurationError(f"{name!r} is not a name: use letters, digits, - and _")
        if token:
            with _keyring() as keyring:
                keyring.set_password(_SERVICE, address, token)
        self._write(self.read() | {name: address})

    def remove(self, name: str) -> None:
        """Forget an agent and its token.

        Raises:
            ConfigurationError: There is no such name, or the file cannot be written.
        """
        known = self.read()
        if name not in known:
            raise ConfigurationError(f"there is no agent {name!r}; see `agents list`")
        if token_for(known[name]):
            with _keyring() as keyring:
                keyring.delete_password(_SERVICE, known[name])
        self._write({each: address for each, address in known.items() if each != name})

    def _write(self, known: dict[str, str]) -> None:
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            draft = self._path.with_suffix(".new")
            draft.write_bytes(_ALIASES.dump_json(known, indent=2))
            draft.replace(self._path)
        except OSError as error:
            raise ConfigurationError(f"{self._path} cannot be written") from error


def token_for(address: str) -> str:
    """Return the token for an agent's address; "" without one or without a keyring."""
    try:
        with _keyring() as keyring:
            return keyring.get_password(_SERVICE, address) or ""
    except ConfigurationError:
        return ""


@contextmanager
def _keyring() -> Iterator[Any]:
    """Enter a call of the keyring.

    Raises:
        ConfigurationError: The operating system has no keyring, or it is locked.
        MissingExtraError: keyring is not installed.
    """
    try:
        import keyring  # noqa: PLC0415 - an extra
        from keyring.errors import KeyringError  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtraError("agents add --token", "keyring") from error
    try:
        yield keyring
    except KeyringError as error:
        raise ConfigurationError(
            "there is no usable keyring for the token; leave --token out and set A2ACLI_BEARER"
        ) from error


def complete_agent(context: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """Return the names of agents that start with a word, with their addresses."""
    if context.params.get("words"):
        return []
    try:
        known = Aliases().read()
    except ConfigurationError:
        return []
    return [(name, address) for name, address in known.items() if name.startswith(incomplete)]
