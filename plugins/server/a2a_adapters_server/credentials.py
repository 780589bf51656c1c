"""Reads tokens and keys from files and the environment, for the command line."""

from __future__ import annotations

import logging
import os
import stat
from typing import TYPE_CHECKING

from a2a_adapters.contract.errors import ConfigurationError
from a2a_adapters.security.api_keys import ApiKeys, BearerTokens
from a2a_adapters.security.authenticator import AnyOf

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from a2a_adapters.security.authenticator import Authenticator

BEARER_TOKENS = "A2A_ADAPTERS_BEARER_TOKENS"
API_KEYS = "A2A_ADAPTERS_API_KEYS"
"""Environment variables with the content of a file, so that no secret is on a command line."""

_OTHERS = stat.S_IRWXG | stat.S_IRWXO

logger = logging.getLogger(__name__)


def authenticator(
    bearer_token_file: Path | None, api_key_file: Path | None, environment: Mapping[str, str]
) -> Authenticator | None:
    """Return an authenticator for all configured credentials, or None if there are none.

    Raises:
        ConfigurationError: A file cannot be read or parsed. The text never contains its content.
    """
    tokens = _users(bearer_token_file, BEARER_TOKENS, environment)
    keys = _users(api_key_file, API_KEYS, environment)
    found: list[Authenticator] = []
    if tokens is not None:
        found.append(BearerTokens(tokens))
    if keys is not None:
        found.append(ApiKeys(keys))
    return AnyOf(*found) if len(found) > 1 else next(iter(found), None)


def _users(
    file: Path | None, variable: str, environment: Mapping[str, str]
) -> dict[str, str] | None:
    if file is not None:
        try:
            _warn_if_exposed(file)
            return _parse(file.read_text(encoding="utf-8-sig"), str(file))
        except OSError as error:
            raise ConfigurationError(f"{file} cannot be read: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise ConfigurationError(f"{file} is not UTF-8 text") from error
    if variable in environment:
        return _parse(environment[variable], variable)
    return None


def _warn_if_exposed(file: Path) -> None:
    mode = file.stat().st_mode
    if os.name == "posix" and stat.S_ISREG(mode) and mode & _OTHERS:
        logger.warning("other users can access %s, which contains secrets: chmod 600 it", file)


def _parse(text: str, source: str) -> dict[str, str]:
    """Return the users by secret; a line is `user: secret`, empty or a comment (`#`)."""
    users: dict[str, str] = {}
    for number, raw_line in enumerate(text.splitlines(), start=1):
        line = raw_line.strip()
        if not line or line.startswith("#"):
            continue
        user, _, secret = (piece.strip() for piece in line.partition(":"))
        if not user or not secret:
            raise ConfigurationError(f"line {number} of {source} is not of the form user: secret")
        if users.setdefault(secret, user) != user:
            raise ConfigurationError(f"line {number} of {source} repeats the secret of another")
    return users
