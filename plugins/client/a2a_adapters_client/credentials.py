"""Adds the credentials required by an agent's card, and prints requests for `--debug`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx

from a2a_adapters.cli.options import read_parameters
from a2a_adapters.cli.terminal import echo
from a2a_adapters_client.oauth.bearer import stored_token

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from a2a.types import AgentCard, APIKeySecurityScheme

    from a2a_adapters.calling.options import RemoteOptions
    from a2a_adapters_client.access import Access

_KEY_HEADER = "X-API-Key"
_SHOWN = 20_000


class Credentials(httpx.Auth):
    """Credentials for requests to the agent's own host.

    Credentials that the user typed are sent with every request, even the first one for the card,
    because cards may be protected. The first request has a key in the usual header, as the card is
    not known yet.

    The token of `auth login` is used unless other credentials are given; it is not sent with
    the first request for the card.

    Args:
        access: The options.
        options: Client options for renewing a login.
    """

    def __init__(self, access: Access, options: RemoteOptions) -> None:
        self._bearer = access.bearer
        self._api_key = access.api_key
        self._parameters = read_parameters(access.svc_param or [])
        self._options = options
        self.is_given = bool(self._bearer or self._api_key or self._parameters)
        """Whether the command line provides credentials, which override a login."""
        self._stored = None if self.is_given else stored_token(None, options)
        self._shows = access.debug
        self.card: AgentCard | None = None
        """The agent's card, once it is known."""

    def is_needed(self, url: httpx.URL | None) -> bool:
        """Return whether requests need credentials or debug output; None means any agent."""
        has_login = self._stored is not None and stored_token(url, self._options) is not None
        return self.is_given or self._shows or has_login

    async def async_auth_flow(
        self, request: httpx.Request
    ) -> AsyncGenerator[httpx.Request, httpx.Response]:
        """Add the credentials (httpx's protocol)."""
        self._show(f"> {request.method} {request.url}", request.content)
        request.headers.update(self._parameters)
        if self.card is not None or self.is_given:
            await self._add(request, _key_scheme(self.card) if self.card else None)
        response = yield request
        is_refused = response.status_code == httpx.codes.UNAUTHORIZED
        if is_refused and self._stored is not None and await self._stored.add_other(request):
            response = yield request
        is_stream = response.headers.get("content-type", "").startswith("text/event-stream")
        if self._shows:
            body = b"(a stream)" if is_stream else await response.aread()
            self._show(f"< HTTP {response.status_code}", body)

    async def _add(self, request: httpx.Request, scheme: APIKeySecurityScheme | None) -> None:
        if self._stored is not None:
            await self._stored.add(request)
        if self._bearer:
            request.headers["Authorization"] = f"Bearer {self._bearer}"
        if not self._api_key:
            return
        name, location = (scheme.name, scheme.location) if scheme else (_KEY_HEADER, "header")
        match location:
            case "query":
                request.url = request.url.copy_add_param(name, self._api_key)
            case "cookie":
                request.headers["Cookie"] = f"{name}={self._api_key}"
            case _:
                request.headers[name] = self._api_key

    def _show(self, line: str, body: bytes) -> None:
        if self._shows:
            text = body[:_SHOWN].decode(errors="replace")
            echo(self.redacted(f"{line}\n{text}" if text else line), err=True)

    def redacted(self, text: str) -> str:
        """Return text with secrets redacted."""
        stored = self._stored.secrets if self._stored else ()
        for secret in (self._bearer, self._api_key, *self._parameters.values(), *stored):
            if secret:
                text = text.replace(secret, "***")
        return text


def _key_scheme(card: AgentCard) -> APIKeySecurityScheme | None:
    """Return the API key scheme of a card."""
    for scheme in card.security_schemes.values():
        if scheme.HasField("api_key_security_scheme"):
            return scheme.api_key_security_scheme
    return None
