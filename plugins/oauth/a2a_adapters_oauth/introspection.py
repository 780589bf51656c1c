"""Opaque tokens of callers, checked by asking their authorization server."""

from __future__ import annotations

import hashlib
import time
from typing import TYPE_CHECKING, Any

import httpx
from a2a.types import HTTPAuthSecurityScheme, SecurityScheme
from pydantic import BaseModel, ConfigDict

from a2a_adapters import ConfigurationError
from a2a_adapters.net.addresses import is_loopback
from a2a_adapters.plugin import check_arguments
from a2a_adapters.security import ClaimedTokens, Claims, InvalidTokenError, bearer_token
from a2a_adapters_oauth.endpoints import Client, OAuthError, post_form

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_TIMEOUT_SECONDS = 5.0
_KNOWN_TOKENS = 1000
"""Number of answers in the cache."""

_GOOGLE = "https://oauth2.googleapis.com/tokeninfo"


class _Answer(BaseModel):
    """An introspection response (RFC 7662, section 2.2)."""

    model_config = ConfigDict(extra="allow")

    active: bool
    exp: float | None = None
    aud: str | list[str] | None = None


class TokenIntrospection(ClaimedTokens):
    """Accepts `Authorization: Bearer <token>` if the authorization server says it is active.

    It asks the server (RFC 7662) and keeps the answers for a while, so a revoked token is refused
    at the latest `cache_seconds` later.

    Args:
        url: The introspection endpoint; https, unless on this machine.
        client_id: The client as which this server asks.
        client_secret: Its secret.
        audience: The required `aud` of tokens, if any.
        scopes: Scopes required in `scope`; without them the response is 403.
        user_claim: The member with the user's name.
        tenant_claim: The member with the name of the user's tenant, if any.
        cache_seconds: The longest time for which an answer counts.

    Raises:
        ConfigurationError: `url` is neither https nor on this machine.
    """

    def __init__(
        self,
        url: str,
        *,
        client_id: str,
        client_secret: str,
        audience: str | None = None,
        scopes: Sequence[str] = (),
        user_claim: str = "sub",
        tenant_claim: str | None = None,
        cache_seconds: float = 60,
    ) -> None:
        check_arguments(TokenIntrospection, locals(), {"user_claim"})
        super().__init__(scopes, user_claim, tenant_claim)
        place = httpx.URL(url)
        if place.scheme != "https" and not is_loopback(place.host):
            raise ConfigurationError(
                f"tokens are sent over https only, and {url!r} is neither https nor on this machine"
            )
        self._url = url
        self._client = Client(client_id, client_secret)
        self._audience = audience
        self._cache_seconds = cache_seconds
        self._known: dict[bytes, tuple[float, Claims | None]] = {}
        """By hash of the token: the time to which the answer counts, and an active one's claims."""

    def security_schemes(self) -> Mapping[str, SecurityScheme]:
        """Return the scheme `token`."""
        return {
            "token": SecurityScheme(
                http_auth_security_scheme=HTTPAuthSecurityScheme(scheme="Bearer")
            )
        }

    async def verified(self, headers: Mapping[str, str]) -> Claims:
        """Return what the authorization server says about the token."""
        token = bearer_token(headers)
        key = hashlib.sha256(token.encode()).digest()
        until, claims = self._known.get(key, (0.0, None))
        if time.time() >= until:
            claims = await self._ask(token)
            until = time.time() + self._cache_seconds
            if claims is not None and claims.get("exp") is not None:
                until = min(until, float(claims["exp"]))
            self._known.pop(key, None)
            self._known[key] = until, claims
            if len(self._known) > _KNOWN_TOKENS:
                del self._known[next(iter(self._known))]
        if claims is None:
            raise InvalidTokenError("the token is not active")
        return claims

    async def _ask(self, token: str) -> Claims | None:
        async with httpx.AsyncClient(timeout=_TIMEOUT_SECONDS) as http:
            form = {"token": token, "token_type_hint": "access_token"}
            answer = await post_form(http, self._url, form, self._client, _Answer)
        return self._claims(answer) if answer.active else None

    def _claims(self, answer: _Answer) -> Claims | None:
        """Return the claims of an active token, None if it is for others or has expired."""
        audiences = [answer.aud] if isinstance(answer.aud, str) else answer.aud or []
        if self._audience is not None and self._audience not in audiences:
            return None
        if answer.exp is not None and answer.exp <= time.time():
            return None
        claims: dict[str, Any] = answer.model_dump(exclude_none=True)
        return claims


class GoogleAccessTokens(TokenIntrospection):
    """Accepts opaque access tokens of Google, such as those that Gemini Enterprise forwards.

    Google has no introspection endpoint (RFC 7662); its `tokeninfo` tells the same.

    Args:
        audience: The OAuth client for which the tokens were issued. Tokens of any other client
            would let its owner act as their users.
        scopes: Scopes required of tokens; without them the response is 403.
        user_claim: The member with the user's name: `sub`, or `email` if its scope was granted.
        cache_seconds: The longest time for which an answer counts.
        url: The endpoint.
    """

    def __init__(
        self,
        audience: str,
        *,
        scopes: Sequence[str] = (),
        user_claim: str = "sub",
        cache_seconds: float = 60,
        url: str = _GOOGLE,
    ) -> None:
        super().__init__(
            url,
            client_id="",
            client_secret="",
            audience=audience,
            scopes=scopes,
            user_claim=user_claim,
            cache_seconds=cache_seconds,
        )

    async def _ask(self, token: str) -> Claims | None:
        async with httpx.AsyncClient(timeout=_TIMEOUT_SECONDS) as http:
            form = {"access_token": token}
            try:
                answer = await post_form(http, self._url, form, self._client, _GoogleAnswer)
            except OAuthError:  # the answer about a token that is unknown, revoked or expired
                return None
        return self._claims(answer)


class _GoogleAnswer(_Answer):
    active: bool = True
