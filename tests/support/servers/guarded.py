"""Agents that require authentication."""

from __future__ import annotations

from a2a.types import (
    AgentCard,
    APIKeySecurityScheme,
    HTTPAuthSecurityScheme,
    SecurityRequirement,
    SecurityScheme,
    StringList,
)
from starlette.responses import JSONResponse
from starlette.types import ASGIApp

from tests.support.servers.cards import agent_card
from tests.support.servers.front import Received, Recording
from tests.support.servers.sdk import sdk_app
from tests.support.servers.streams import chunking


class Guarded(Recording):
    """Answers 401 to requests without the credential; `header` and `value` are mutable.

    The card is public unless `card_too`, and declares the scheme.
    """

    def __init__(
        self, scheme: SecurityScheme, header: str, value: str, *, card_too: bool = False
    ) -> None:
        super().__init__(sdk_app(chunking(), card=lambda url: _guarded_card(url, scheme)))
        self.header = header
        self.value = value
        self._card_too = card_too

    def refusal(self, request: Received) -> ASGIApp | None:
        public = request.method == "GET" and not self._card_too
        if public or request.headers.get(self.header) == self.value:
            return None
        challenge = {"WWW-Authenticate": "Bearer"}
        return JSONResponse({"error": "unauthorized"}, status_code=401, headers=challenge)


def bearer(token: str = "s3cret", *, card_too: bool = False) -> Guarded:
    """Requires `Authorization: Bearer <token>`."""
    scheme = SecurityScheme(http_auth_security_scheme=HTTPAuthSecurityScheme(scheme="bearer"))
    return Guarded(scheme, "authorization", f"Bearer {token}", card_too=card_too)


def api_key(key: str = "s3cret", *, header: str = "X-API-Key", card_too: bool = False) -> Guarded:
    """Requires the key in a custom header."""
    named = APIKeySecurityScheme(location="header", name=header)
    scheme = SecurityScheme(api_key_security_scheme=named)
    return Guarded(scheme, header, key, card_too=card_too)


def _guarded_card(url: str, scheme: SecurityScheme) -> AgentCard:
    card = agent_card(url)
    card.security_schemes["main"].CopyFrom(scheme)
    card.security_requirements.append(SecurityRequirement(schemes={"main": StringList()}))
    return card
