"""Sends the token of `auth login` to its origin only."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

import httpx
from a2a_adapters_oauth.endpoints import (
    Client,
    OAuthError,
    client_credentials_token,
    refreshed_token,
)

from a2a_adapters import RemoteAuthError, RemoteTimeoutError
from a2a_adapters.calling.http import make_client
from a2a_adapters.protocol.card import WELL_KNOWN_PATHS
from a2a_adapters_client.oauth.store import Store, origin_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from a2a_adapters_oauth.endpoints import Token

    from a2a_adapters.calling.options import RemoteOptions
    from a2a_adapters_client.oauth.store import Login


_RENEWAL_SECONDS = 30.0
"""Other commands wait for a renewal."""


class StoredToken(httpx.Auth):
    """Adds the token for the origin of a request, renewed if necessary.

    Requests for cards carry it only after a challenge.

    Args:
        options: Client options for authorization servers.
    """

    def __init__(self, options: RemoteOptions) -> None:
        self._options = options
        self._store = Store()
        self._sent: dict[str, str] = {}
        """The last token sent to each origin."""

    @property
    def secrets(self) -> list[str]:
        """The tokens to hide from output."""
        return list(self._sent.values())

    async def async_auth_flow(
        self, request: httpx.Request
    ) -> AsyncGenerator[httpx.Request, httpx.Response]:
        """Add the token; renew it if it is refused."""
        if not request.url.path.endswith(tuple(WELL_KNOWN_PATHS)):
            await self.add(request)
        response = yield request
        if response.status_code == httpx.codes.UNAUTHORIZED and await self.add_other(request):
            yield request

    async def add(self, request: httpx.Request) -> None:
        """Add the token for the request's origin, if any.

        Raises:
            RemoteAgentError: It has expired and cannot be renewed.
        """
        token = await self._token(origin_of(request.url), refused="")
        if token is not None:
            self._put(request, token)

    async def add_other(self, request: httpx.Request) -> bool:
        """Add a new token to a refused request; return whether there is one.

        Raises:
            RemoteAgentError: The token cannot be renewed.
        """
        refused = request.headers.get("Authorization", "").removeprefix("Bearer ")
        token = await self._token(origin_of(request.url), refused=refused)
        if token is None:
            return False
        self._put(request, token)
        return True

    def _put(self, request: httpx.Request, token: str) -> None:
        self._sent[origin_of(request.url)] = token
        request.headers["Authorization"] = f"Bearer {token}"

    async def _token(self, origin: str, *, refused: str) -> str | None:
        """Return the token for an origin unless it is the refused one; None if there is none."""
        login = self._store.read().get(origin)
        if login is None:
            return None
        if not _is_unusable(login, refused):
            return login.access_token
        async with self._store.locked():
            login = self._store.read().get(origin, login)
            if not _is_unusable(login, refused):  # another command has renewed it
                return login.access_token
            if not login.is_renewable:
                if refused:
                    return None
                raise RemoteAuthError(f"the login at {origin} has expired; log in again")
            login = login.renewed(await self._renewal(login, origin))
            self._store.write(origin, login)
            return login.access_token

    async def _renewal(self, login: Login, origin: str) -> Token:
        client = Client(login.client_id, login.client_secret)
        known = [httpx.URL(url).host for url in (login.token_url, login.refresh_url)]
        options = replace(self._options, trusted_hosts=known)
        try:
            async with (
                asyncio.timeout(_RENEWAL_SECONDS),
                make_client(httpx.URL(origin), options, None) as http,
            ):
                if login.refresh_token:
                    return await refreshed_token(
                        http, login.refresh_url, client, login.refresh_token
                    )
                return await client_credentials_token(http, login.token_url, client, login.scope)
        except OAuthError as error:
            raise RemoteAuthError(
                f"the login at {origin} cannot be renewed; log in again: {error}"
            ) from error
        except TimeoutError as error:
            raise RemoteTimeoutError(f"renewing the login at {origin} timed out") from error


def _is_unusable(login: Login, refused: str) -> bool:
    return login.is_expired or login.access_token == refused


def stored_token(url: httpx.URL | None, options: RemoteOptions) -> StoredToken | None:
    """Return the stored authentication for a URL (None: any), None if there is no login.

    Raises:
        ConfigurationError: The login file cannot be read.
    """
    logins = Store().read()
    is_known = bool(logins) if url is None else origin_of(url) in logins
    return StoredToken(options) if is_known else None
