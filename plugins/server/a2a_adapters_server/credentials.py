"""Makes the authenticator of the settings: tokens, keys, and users that a front names."""

from __future__ import annotations

import logging
import os
import stat
from typing import TYPE_CHECKING

from a2a_adapters.contract.errors import ConfigurationError
from a2a_adapters.security.api_keys import ApiKeys, BearerTokens
from a2a_adapters.security.authenticator import AnyOf
from a2a_adapters.security.forwarded import ForwardedUser

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from a2a_adapters.security.authenticator import Authenticator

BEARER_TOKENS = "A2A_ADAPTERS_BEARER_TOKENS"
API_KEYS = "A2A_ADAPTERS_API_KEYS"
"""Environment variables with the content of a file, so that no secret is on a command line."""

_USER_HEADERS = {
    "azure": "X-MS-CLIENT-PRINCIPAL-ID",
    "databricks": "X-Forwarded-User",
    "oauth2-proxy": "X-Forwarded-User",
}
"""The headers of fronts that sign nothing, with the most permanent name of the user."""

_SIGNING = ("alb", "iap")
"""Fronts that sign the user for an audience."""

_OTHERS = stat.S_IRWXG | stat.S_IRWXO

logger = logging.getLogger(__name__)


def authenticator(
    bearer_token_file: Path | None,
    api_key_file: Path | None,
    environment: Mapping[str, str],
    forwarded_user: str | None = None,
    forwarded_audience: str | None = None,
) -> Authenticator | None:
    """Return an authenticator for all configured credentials, or None if there are none.

    Args:
        bearer_token_file: A file of users and their tokens.
        api_key_file: A file of users and their keys.
        environment: May have the content of these files.
        forwarded_user: The front that names the user, or the header in which it does so.
        forwarded_audience: The audience for which the front signs it.

    Raises:
        ConfigurationError: A file cannot be read or parsed; the text never contains its content. Or
            the front is unknown, or its audience is missing.
        MissingExtraError: The front signs tokens, and the extra `jwt` is not installed.
    """
    tokens = _users(bearer_token_file, BEARER_TOKENS, environment)
    keys = _users(api_key_file, API_KEYS, environment)
    found: list[Authenticator] = []
    if tokens is not None:
        found.append(BearerTokens(tokens))
    if keys is not None:
        found.append(ApiKeys(keys))
    if forwarded_user is not None:
        found.append(_front(forwarded_user, forwarded_audience or ""))
    return AnyOf(*found) if len(found) > 1 else next(iter(found), None)


def _front(name: str, audience: str) -> Authenticator:
    if name in _SIGNING:
        return _signing_front(name, audience)
    header = _USER_HEADERS.get(name, name)
    if not header.lower().startswith("x-"):
        known = ", ".join(sorted([*_USER_HEADERS, *_SIGNING]))
        raise ConfigurationError(
            f"there is no front {name!r}: use {known}, or the header with the user, X-..."
        )
    return ForwardedUser(header)


def _signing_front(name: str, audience: str) -> Authenticator:
    from a2a_adapters_jwt import AlbTokens, JwtTokens  # noqa: PLC0415 - needs the extra

    if not audience:
        kind = "ARN of the load balancer" if name == "alb" else "audience of the backend service"
        raise ConfigurationError(f"the front {name} needs forwarded_audience, the {kind}")
    if name == "alb":
        return AlbTokens(audience)
    return JwtTokens(
        "https://www.gstatic.com/iap/verify/public_key-jwk",
        issuer="https://cloud.google.com/iap",
        audience=audience,
        algorithms=["ES256"],
        header="X-Goog-IAP-JWT-Assertion",
    )


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
