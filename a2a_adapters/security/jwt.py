"""JSON Web Tokens that an identity provider has signed."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from a2a.types import HTTPAuthSecurityScheme, SecurityScheme

from a2a_adapters.contract.errors import ConfigurationError, ForbiddenError, MissingExtraError
from a2a_adapters.security.api_keys import InvalidTokenError, bearer_token
from a2a_adapters.security.authenticator import Authenticator

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jwt import PyJWK

    from a2a_adapters.security.jwks import KeySet

__all__ = ["JwtTokens"]

_LEEWAY_SECONDS = 10
"""How far clocks may differ."""
_KNOWN_TOKENS = 1000
"""How many tokens are not verified again while they and their keys are good."""

Claims: TypeAlias = "dict[str, Any]"


class JwtTokens(Authenticator):
    """Takes `Authorization: Bearer <JWT>`, signed with a key of a JWKS (RFC 7519, RFC 7517).

    Signature, algorithm, issuer, audience and expiry are checked. The keys are fetched when
    the first token comes, kept, and fetched again when they are old or a token names a new one.

    Args:
        jwks_url: Where the issuer publishes its keys; https, unless on this machine.
        issuer: What the token's `iss` must be.
        audience: What the token's `aud` must hold, usually the address of the agent.
        algorithms: The algorithms accepted, none with a shared secret.
        scopes: What the token's `scope` (or `scp`) must hold; missing ones are a 403.
        user_claim: The claim that names the user.

    Raises:
        MissingExtraError: The extra `jwt` is not installed.
        ConfigurationError: An argument is empty or not safe.
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
    ) -> None:
        try:
            from a2a_adapters.security.jwks import KeySet  # noqa: PLC0415
        except ImportError as error:
            raise MissingExtraError("authentication with JWTs", "jwt") from error
        if not issuer or not audience:
            raise ConfigurationError("JwtTokens needs the issuer and the audience of the tokens")
        unsafe = [name for name in algorithms if name == "none" or name.startswith("HS")]
        if unsafe or not algorithms or isinstance(algorithms, str):
            raise ConfigurationError("algorithms is a list of asymmetric ones, such as RS256")
        self._keys: KeySet = KeySet(jwks_url)
        self._issuer = issuer
        self._audience = audience
        self._algorithms = list(algorithms)
        self._scopes = frozenset(scopes)
        self._user_claim = user_claim
        # To verify a signature takes as long as half a request.
        self._known: dict[str, _Verified] = {}

    def security_schemes(self) -> Mapping[str, SecurityScheme]:
        """Return the scheme `jwt`."""
        scheme = HTTPAuthSecurityScheme(scheme="Bearer", bearer_format="JWT")
        return {"jwt": SecurityScheme(http_auth_security_scheme=scheme)}

    async def authenticate(self, headers: Mapping[str, str]) -> str:
        """Return the user whom the token names."""
        claims = await self._verified(bearer_token(headers))
        user = claims[self._user_claim]
        if not isinstance(user, str) or not user:
            raise InvalidTokenError("the token does not name its user")
        if missing := self._scopes - _granted(claims):
            names = " ".join(sorted(missing))
            challenge = f'Bearer error="insufficient_scope", scope="{names}"'
            raise ForbiddenError(f"the token lacks the scope {names}", challenge=challenge)
        return user

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
        if issuer != self._issuer:  # somebody else's token: our provider need not be asked
            raise InvalidTokenError("the token is not valid here")
        key = await self._keys.find(key_id) if isinstance(key_id, str | None) else None
        if key is None:
            raise InvalidTokenError("the token is signed with a key that is not known here")
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
    """A token that was valid, as long as its key and its time are."""

    claims: Claims
    expires_at: float
    key_id: str | None
    key: PyJWK


def _granted(claims: Mapping[str, object]) -> frozenset[str]:
    """Return the scopes of a token: RFC 8693's string, or the list that some issuers send."""
    scopes = claims.get("scope", claims.get("scp", ""))
    if isinstance(scopes, str):
        return frozenset(scopes.split())
    return frozenset(map(str, scopes)) if isinstance(scopes, list) else frozenset()
