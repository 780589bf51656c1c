"""Verifies JSON Web Tokens."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from a2a.types import HTTPAuthSecurityScheme, SecurityScheme

from a2a_adapters import ConfigurationError, MissingExtraError, UnauthenticatedError
from a2a_adapters.plugin import check_arguments
from a2a_adapters.security import ClaimedTokens, Claims, InvalidTokenError, bearer_token

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jwt import PyJWK

    from a2a_adapters_jwt.keys import KeySet

_LEEWAY_SECONDS = 10
"""Tolerated difference between clocks."""
_KNOWN_TOKENS = 1000
"""Number of verified tokens in the cache."""


class JwtTokens(ClaimedTokens):
    """Accepts `Authorization: Bearer <JWT>`, signed with a key of a JWKS (RFC 7519, RFC 7517).

    Signature, algorithm, issuer, audience and expiry are verified. The keys are fetched with the
    first token, and again when they are old or a token names an unknown one.

    Args:
        jwks_url: The URL of the issuer's keys; https, unless on this machine.
        issuer: The required `iss` of tokens.
        audience: The required `aud` of tokens, usually the agent's address.
        algorithms: The accepted algorithms, which must be asymmetric.
        scopes: Scopes required in `scope` (or `scp`); without them the response is 403.
        user_claim: The claim with the user's name.
        tenant_claim: The claim with the name of the user's tenant, if any.
        header: The header with the token that a front has added, such as
            `X-Goog-IAP-JWT-Assertion`, in place of `Authorization`. The card then names no scheme,
            because callers authenticate to the front.

    Raises:
        MissingExtraError: The extra `jwt` is not installed.
        ConfigurationError: An argument is empty or unsafe.
    """

    def __init__(
        self,
        jwks_url: str,
        *,
        issuer: str,
        audience: str,
        algorithms: Sequence[str] = ("RS256", "ES256"),
        scopes: Sequence[str] = (),
        user_claim: str = "sub",
        tenant_claim: str | None = None,
        header: str | None = None,
    ) -> None:
        check_arguments(JwtTokens, locals(), {"user_claim"})
        super().__init__(scopes, user_claim, tenant_claim)
        try:
            from a2a_adapters_jwt.keys import KeySet  # noqa: PLC0415
        except ImportError as error:
            raise MissingExtraError("authentication with JWTs", "jwt") from error
        if not issuer or not audience:
            raise ConfigurationError("JwtTokens needs the issuer and the audience of the tokens")
        unsafe = [name for name in algorithms if name == "none" or name.startswith("HS")]
        if unsafe or not algorithms or isinstance(algorithms, str):
            raise ConfigurationError(
                "algorithms must be a list of asymmetric algorithms such as RS256"
            )
        self._keys: KeySet = KeySet(jwks_url)
        self._issuer = issuer
        self._audience = audience
        self._algorithms = list(algorithms)
        self._header = header
        # Verifying a signature takes as long as half a request.
        self._known: dict[str, _Verified] = {}

    def security_schemes(self) -> Mapping[str, SecurityScheme]:
        """Return the scheme `jwt`; none for tokens of a front."""
        if self._header is not None:
            return {}
        scheme = HTTPAuthSecurityScheme(scheme="Bearer", bearer_format="JWT")
        return {"jwt": SecurityScheme(http_auth_security_scheme=scheme)}

    async def verified(self, headers: Mapping[str, str]) -> Claims:
        """Return the claims of the token."""
        if self._header is None:
            return await self._verified(bearer_token(headers))
        if (token := headers.get(self._header.lower())) is None:
            raise UnauthenticatedError(f"the request has no token in {self._header}")
        return await self._verified(token)

    async def _verified(self, token: str) -> Claims:
        known = self._known.get(token)
        is_in_time = known is not None and known.expires_at + _LEEWAY_SECONDS > time.time()
        if known and is_in_time and await self._keys.find(known.key_id) is known.key:
            return known.claims
        verified = await self._verify(token)
        self._known[token] = verified
        if len(self._known) > _KNOWN_TOKENS:
            del self._known[next(iter(self._known))]
        return verified.claims

    async def _verify(self, token: str) -> _Verified:
        import jwt  # noqa: PLC0415 - comes with the extra

        try:
            key_id = jwt.get_unverified_header(token).get("kid")
            issuer = jwt.decode(token, options={"verify_signature": False}).get("iss")
        except jwt.PyJWTError as error:
            raise InvalidTokenError("the bearer token is not a JWT") from error
        if issuer != self._issuer:  # do not fetch keys for another issuer's token
            raise InvalidTokenError("the token is not valid here")
        key = await self._keys.find(key_id) if isinstance(key_id, str | None) else None
        if key is None:
            raise InvalidTokenError("the token is signed with an unknown key")
        try:
            claims: Claims = jwt.decode(
                token,
                key,
                algorithms=self._algorithms,
                issuer=self._issuer,
                audience=self._audience,
                leeway=_LEEWAY_SECONDS,
                options={"require": ["exp", "iss", "aud", self._user_claim]},
            )
        except jwt.ExpiredSignatureError as error:
            raise InvalidTokenError("the token has expired") from error
        except jwt.PyJWTError as error:
            raise InvalidTokenError("the token is not valid here") from error
        return _Verified(claims, float(claims["exp"]), key_id, key)


@dataclass(frozen=True, slots=True)
class _Verified:
    """A verified token, valid until it expires or its key changes."""

    claims: Claims
    expires_at: float
    key_id: str | None
    key: PyJWK
