"""The login file of `auth login`, readable by its owner only."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import typer
from a2a_adapters_check.host import as_url
from pydantic import BaseModel, TypeAdapter, ValidationError

from a2a_adapters.calling.card import agent_url
from a2a_adapters.contract.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    import httpx
    from a2a_adapters_oauth.endpoints import Token

if sys.platform != "win32":
    import fcntl

_EARLY_SECONDS = 30
"""Tokens are renewed this long before their expiry, to cover the duration of a request."""

_LONGEST_SECONDS = 10 * 365 * 86_400.0

_PORTS = {"http": 80, "https": 443}


class Login(BaseModel):
    """A token, and the data to renew it.

    Attributes:
        flow: The grant by which it was issued.
        client_id: The client's id.
        client_secret: The client's secret, "" if it has none.
        token_url: The endpoint that issued it.
        refresh_url: The endpoint that renews it.
        scope: The granted scopes, or those requested.
        access_token: The token.
        refresh_token: The refresh token, "" without one.
        expires_at: Expiry in seconds since 1970; None if unknown.
    """

    flow: Literal["authorization-code", "client-credentials", "device-code"]
    client_id: str
    client_secret: str = ""
    token_url: str
    refresh_url: str
    scope: str = ""
    access_token: str
    refresh_token: str = ""
    expires_at: float | None = None

    @property
    def is_expired(self) -> bool:
        """Whether the token has expired or is about to."""
        return self.expires_at is not None and self.expires_at - _EARLY_SECONDS < time.time()

    @property
    def is_renewable(self) -> bool:
        """Whether it can be renewed without the user."""
        return bool(self.refresh_token) or self.flow == "client-credentials"

    def renewed(self, token: Token) -> Login:
        """Return the login with a new token; fields omitted by the server are kept."""
        seconds = token.expires_in
        ends = None if seconds is None else time.time() + min(seconds, _LONGEST_SECONDS)
        return self.model_copy(
            update={
                "access_token": token.access_token,
                "refresh_token": token.refresh_token or self.refresh_token,
                "scope": token.scope or self.scope,
                "expires_at": ends,
            }
        )


_LOGINS = TypeAdapter(dict[str, Login])


class Store:
    """The logins of this user by origin."""

    def __init__(self) -> None:
        self.path = Path(typer.get_app_dir("a2a-adapters")) / "logins.json"

    def read(self) -> Mapping[str, Login]:
        """Return the logins.

        Raises:
            ConfigurationError: The file cannot be read.
        """
        try:
            return _LOGINS.validate_json(self.path.read_bytes())
        except FileNotFoundError:
            return {}
        except (OSError, ValidationError):  # the latter's text contains secrets
            pass
        raise ConfigurationError(f"{self.path} cannot be read; remove it and log in again")

    def write(self, origin: str, login: Login | None) -> None:
        """Store or delete (None) the login for an origin; call within `locked`."""
        logins = {key: value for key, value in self.read().items() if key != origin}
        if login is not None:
            logins[origin] = login
        # `mkstemp` makes it readable by its owner only.
        handle, name = tempfile.mkstemp(dir=self.path.parent, prefix=".logins-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(_LOGINS.dump_json(logins, indent=2))
            Path(name).replace(self.path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise

    @asynccontextmanager
    async def locked(self) -> AsyncGenerator[None]:
        """Lock the file against other commands, so that a token is renewed only once.

        Raises:
            ConfigurationError: The folder is not writable.
        """
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            file = self.path.with_suffix(".lock").open("w")
        except OSError as error:
            raise ConfigurationError(f"{self.path.parent} cannot be written to") from error
        with file:
            if sys.platform != "win32":
                await asyncio.to_thread(fcntl.flock, file, fcntl.LOCK_EX)
            yield


def origin_named(reference: str) -> str:
    """Return the origin of an agent's host or URL.

    Raises:
        ConfigurationError: The reference is neither.
    """
    address = as_url(reference.partition("#")[0])
    return origin_of(agent_url(address if "://" in address else f"https://{address}"))


def origin_of(url: httpx.URL) -> str:
    """Return the scheme, host and port of a URL, to which a login is bound."""
    return f"{url.scheme}://{url.host}:{url.port or _PORTS.get(url.scheme, 0)}"
