"""Finds the token endpoint that may receive a client's secrets."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import httpx

from a2a_adapters import ConfigurationError, RemoteAuthError, RemoteOptions, RemoteTimeoutError
from a2a_adapters.calling.http import make_client
from a2a_adapters_oauth.discovery import is_protected, issuer_metadata, login_flows
from a2a_adapters_oauth.endpoints import Token, post_form

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from a2a.types import AgentCard

    from a2a_adapters.calling.auth import TrustedHostAuth
    from a2a_adapters_oauth.endpoints import Client

_SECONDS = 30.0
"""Maximum time to get a token."""
_FRESH_SECONDS = 600.0
"""Age at which the metadata of an issuer is fetched again."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A token endpoint.

    Attributes:
        url: The address.
        audience: The audience of assertions for it: the issuer, or else the address.
        scopes: The scopes that the agent's card requires, if the card named the endpoint.
    """

    url: str
    audience: str
    scopes: Sequence[str] = ()


class AuthorizationServer:
    """The authorization server of some credentials.

    It is named by the user, or else by the card of each agent. A card must not send
    secrets elsewhere: its endpoint has to be at the agent's own origin or at a trusted host.

    Args:
        token_url: The token endpoint.
        issuer: The issuer, whose metadata names the token endpoint.

    Raises:
        ConfigurationError: The address is neither https nor on loopback, or both are given.
    """

    def __init__(self, token_url: str, issuer: str) -> None:
        if token_url and issuer:
            raise ConfigurationError("give either token_url or issuer")
        self._named = token_url or issuer
        if self._named and not is_protected(self._named):
            raise ConfigurationError(f"{self._named!r} is neither https nor on this machine")
        self._issuer = issuer
        self._known = Endpoint(token_url, token_url) if token_url else None
        self._known_until = float("inf") if token_url else 0.0

    @property
    def is_named(self) -> bool:
        """Whether the user named the server."""
        return bool(self._named)

    async def token(
        self,
        agent: TrustedHostAuth | None,
        client: Callable[[Endpoint], Awaitable[Client]],
        form: Callable[[Endpoint], Mapping[str, str]],
    ) -> Token:
        """Request a token.

        Args:
            agent: The agent that will get the token, None without one.
            client: Returns the client's authentication at the endpoint.
            form: Returns the fields of the request.

        Raises:
            RemoteAgentError: There is no token.
        """
        options = agent.options if agent else RemoteOptions()
        origin = httpx.URL(self._named) if self._named or agent is None else agent.trust.origin
        try:
            async with asyncio.timeout(_SECONDS), make_client(origin, options, None) as http:
                endpoint = await self._endpoint(agent, http)
                return await post_form(
                    http, endpoint.url, form(endpoint), await client(endpoint), Token
                )
        except TimeoutError as error:
            raise RemoteTimeoutError(f"no access token within {_SECONDS:g} s") from error

    async def _endpoint(self, agent: TrustedHostAuth | None, http: httpx.AsyncClient) -> Endpoint:
        if self._known is not None and time.monotonic() < self._known_until:
            return self._known
        if self._issuer:
            found = await issuer_metadata(self._issuer, http)
            self._known = Endpoint(found.token_endpoint, found.issuer)
            self._known_until = time.monotonic() + _FRESH_SECONDS
            return self._known
        if agent is None or agent.card is None:
            raise ConfigurationError("name the authorization server with token_url or issuer")
        async for flow in login_flows(agent.card, http):
            if flow.flow == "client-credentials":
                if not agent.trust.gets_credentials(httpx.URL(flow.token_url)):
                    raise RemoteAuthError(
                        f"the agent's card names the token endpoint {flow.token_url}, which is "
                        "not at the agent's origin; if you trust it, give it as token_url"
                    )
                return Endpoint(flow.token_url, flow.issuer or flow.token_url, flow.scopes)
        raise RemoteAuthError("the agent's card offers no client credentials grant")


def offers_tokens(card: AgentCard) -> bool:
    """Return whether a card names an authorization server."""
    kinds = {scheme.WhichOneof("scheme") for scheme in card.security_schemes.values()}
    return bool(kinds & {"oauth2_security_scheme", "open_id_connect_security_scheme"})
