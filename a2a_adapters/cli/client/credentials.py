"""Credentials as an agent's card wants them, and what is shown of its requests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx
import typer

from a2a_adapters.cli.client.parameters import read_parameters

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from a2a.types import AgentCard, APIKeySecurityScheme

    from a2a_adapters.cli.client.access import Access

_KEY_HEADER = "X-API-Key"
_SHOWN = 20_000


class Credentials(httpx.Auth):
    """What goes along with every request to the agent's own host.

    The endpoint of a card gets no token and no key unless it asks for one by a challenge
    (a2a-cli 0.2, `A2ACLI_AUTH_008`).

    Args:
        access: The options.
    """

    def __init__(self, access: Access) -> None:
        self._bearer = access.bearer
        self._api_key = access.api_key
        self._parameters = read_parameters(access.svc_param or [])
        self._shows = access.debug
        self.card: AgentCard | None = None
        """The agent's card, once that is known."""

    @property
    def is_needed(self) -> bool:
        """Whether there is anything to send or to show."""
        return bool(self._bearer or self._api_key or self._parameters or self._shows)

    async def async_auth_flow(
        self, request: httpx.Request
    ) -> AsyncGenerator[httpx.Request, httpx.Response]:
        """Add them."""
        self._show(f"> {request.method} {request.url}", request.content)
        request.headers.update(self._parameters)
        if self.card is not None:
            self._add(request, _key_scheme(self.card))
        response = yield request
        challenge = response.headers.get("www-authenticate", "")
        if self.card is None and response.status_code == httpx.codes.UNAUTHORIZED and challenge:
            self._add(request, None)
            response = yield request
        is_stream = response.headers.get("content-type", "").startswith("text/event-stream")
        if self._shows:
            body = b"(a stream)" if is_stream else await response.aread()
            self._show(f"< HTTP {response.status_code}", body)

    def _add(self, request: httpx.Request, scheme: APIKeySecurityScheme | None) -> None:
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
            typer.echo(self.redacted(f"{line}\n{text}" if text else line), err=True)

    def redacted(self, text: str) -> str:
        """Return text without anything secret."""
        for secret in (self._bearer, self._api_key, *self._parameters.values()):
            if secret:
                text = text.replace(secret, "***")
        return text


def _key_scheme(card: AgentCard) -> APIKeySecurityScheme | None:
    """Return where a card wants an API key."""
    for scheme in card.security_schemes.values():
        if scheme.HasField("api_key_security_scheme"):
            return scheme.api_key_security_scheme
    return None
