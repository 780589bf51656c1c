"""Sends a token that is requested when it is needed."""

from __future__ import annotations

import hashlib
import inspect
from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

import httpx

from a2a_adapters import ConfigurationError
from a2a_adapters.calling.auth import DESTINATION
from a2a_adapters.protocol.card import CATALOG_PATH, WELL_KNOWN_PATHS
from a2a_adapters_oauth.cache import TokenCache
from a2a_adapters_oauth.endpoints import Client
from a2a_adapters_oauth.keys import SigningKey
from a2a_adapters_oauth.server import AuthorizationServer, offers_tokens

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Hashable, Mapping

    from a2a_adapters.calling.auth import Secret, TrustedHostAuth
    from a2a_adapters_oauth.server import Endpoint

_PREFIX = "Bearer "
_CARDS = (*WELL_KNOWN_PATHS, CATALOG_PATH)


@dataclass(frozen=True, slots=True)
class Grant:
    """A request for a token.

    Attributes:
        key: Identifies the token among those of one `TokenAuth`.
        form: Returns the fields of the request.
    """

    key: Hashable
    form: Callable[[Endpoint], Mapping[str, str]]


class TokenAuth(httpx.Auth):
    """Sends a bearer token, and requests a new one before it expires or once it is refused.

    Requests for cards carry the token only if they were refused without it.

    Args:
        server: The authorization server.
        client_id: The client's id there; "" sends no client.
        client_secret: Its secret, or its key (`private_key_jwt`).
        secret_in_body: Whether the form holds the secret (`client_secret_post`), not the header.
    """

    def __init__(
        self,
        server: AuthorizationServer,
        client_id: str,
        client_secret: Secret | SigningKey,
        *,
        secret_in_body: bool,
    ) -> None:
        if not client_id and client_secret:
            raise ConfigurationError("a client secret needs a client_id")
        self._server = server
        self._client_id = client_id
        self._client_secret = client_secret
        self._secret_in_body = secret_in_body
        self._cache = TokenCache()

    @abstractmethod
    async def grant(self) -> Grant:
        """Return the request for the token of the current call, in the caller's context."""

    async def token(self) -> str:
        """Return the current token, such as for `TokenExchange(actor_token=...)`.

        Raises:
            ConfigurationError: Neither `token_url` nor `issuer` is given.
            RemoteAgentError: There is no token.
        """
        return await self._token(None)

    async def async_auth_flow(
        self, request: httpx.Request
    ) -> AsyncGenerator[httpx.Request, httpx.Response]:
        """Add the token; replace it once if it is refused (httpx's protocol)."""
        agent: TrustedHostAuth | None = request.extensions.get(DESTINATION)
        sent = ""
        if self._has_endpoint(agent) and not request.url.path.endswith(_CARDS):
            sent = await self._token(agent)
            request.headers["Authorization"] = _PREFIX + sent
        response = yield request
        if response.status_code == httpx.codes.UNAUTHORIZED and self._has_endpoint(agent):
            request.headers["Authorization"] = _PREFIX + await self._token(agent, refused=sent)
            yield request

    def _has_endpoint(self, agent: TrustedHostAuth | None) -> bool:
        if self._server.is_named:
            return True
        return agent is not None and agent.card is not None and offers_tokens(agent.card)

    async def _token(self, agent: TrustedHostAuth | None, refused: str = "") -> str:
        grant = await self.grant()
        # A token from the endpoint of one agent's card is not for other agents.
        key = (None if self._server.is_named else agent, grant.key)
        return await self._cache.get(
            key, refused, lambda: self._server.token(agent, self._client, grant.form)
        )

    async def _client(self, endpoint: Endpoint) -> Client:
        if isinstance(self._client_secret, SigningKey):
            signed = self._client_secret.assertion(
                self._client_id, endpoint.audience, self._client_id
            )
            return Client(self._client_id, assertion=signed)
        secret = await revealed(self._client_secret)
        return Client(self._client_id, secret, in_body=self._secret_in_body)


async def revealed(secret: Secret) -> str:
    """Return a secret, from a callable if it is one."""
    value = secret if isinstance(secret, str) else secret()
    return await value if inspect.isawaitable(value) else value


def digest(secret: str) -> bytes:
    """Return a key under which to keep what belongs to a secret."""
    return hashlib.sha256(secret.encode()).digest()
