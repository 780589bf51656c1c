"""Verifies the users that AWS load balancers (ALB) have logged in."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

from a2a_adapters import ConfigurationError, MissingExtraError, UnauthenticatedError
from a2a_adapters.plugin import check_arguments
from a2a_adapters.security import ClaimedTokens, Claims, InvalidTokenError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from a2a.types import SecurityScheme

_HEADER = "X-Amzn-Oidc-Data"
_ARN = re.compile(r"arn:[\w-]+:elasticloadbalancing:([a-z0-9-]+):\d+:loadbalancer/app/[\w./-]+")
_KEY_ID = re.compile(r"[\w-]{1,64}", re.ASCII)
_LEEWAY_SECONDS = 10
_TIMEOUT_SECONDS = 5.0
_PAUSE_SECONDS = 10.0
"""Minimum time between fetches, since any caller can name a key."""
_MOST_KEYS = 16
_MOST_BYTES = 16 * 1024


class AlbTokens(ClaimedTokens):
    """Accepts the user claims that an Application Load Balancer signs in `X-Amzn-Oidc-Data`.

    The signature, its load balancer and expiry are verified.

    Args:
        load_balancer: The ARN of the load balancer, which has to be the signer.
        scopes: Scopes required in `scope`; without them the response is 403.
        user_claim: The claim with the user's name.
        tenant_claim: The claim with the name of the user's tenant, if any.
        keys_url: The URL to which a key's id is appended; by default that of the ARN's region.

    Raises:
        MissingExtraError: The extra `jwt` is not installed.
        ConfigurationError: `load_balancer` is not such an ARN.
    """

    def __init__(
        self,
        load_balancer: str,
        *,
        scopes: Sequence[str] = (),
        user_claim: str = "sub",
        tenant_claim: str | None = None,
        keys_url: str | None = None,
    ) -> None:
        check_arguments(AlbTokens, locals(), {"user_claim"})
        super().__init__(scopes, user_claim, tenant_claim)
        try:
            import jwt  # noqa: F401, PLC0415 - comes with the extra
        except ImportError as error:
            raise MissingExtraError("authentication with JWTs", "jwt") from error
        found = _ARN.fullmatch(load_balancer)
        if found is None:
            raise ConfigurationError(
                f"{load_balancer!r} is not the ARN of an application load balancer, such as "
                "arn:aws:elasticloadbalancing:eu-west-1:123456789012:loadbalancer/app/name/id"
            )
        self._signer = load_balancer
        self._keys_url = keys_url or f"https://public-keys.auth.elb.{found[1]}.amazonaws.com/"
        self._keys: dict[str, bytes] = {}
        self._asked_at = float("-inf")

    def security_schemes(self) -> Mapping[str, SecurityScheme]:
        """Return no scheme, because callers log in at the load balancer."""
        return {}

    async def verified(self, headers: Mapping[str, str]) -> Claims:
        """Return the claims that the load balancer has signed."""
        import jwt  # noqa: PLC0415 - as above

        token = headers.get(_HEADER.lower())
        if token is None:
            raise UnauthenticatedError(f"the request has no {_HEADER}: log in at the load balancer")
        try:
            header = jwt.get_unverified_header(token)
            if header.get("signer") != self._signer:
                raise InvalidTokenError("the token is signed for another load balancer")
            key = await self._key(str(header.get("kid")))
            claims: Claims = jwt.decode(
                token,
                key,
                algorithms=["ES256"],
                leeway=_LEEWAY_SECONDS,
                options={"require": ["exp"], "verify_aud": False},
            )
        except jwt.PyJWTError as error:
            raise InvalidTokenError("the token is not valid here") from error
        return claims

    async def _key(self, key_id: str) -> bytes:
        if key_id in self._keys:
            return self._keys[key_id]
        if not _KEY_ID.fullmatch(key_id) or time.monotonic() < self._asked_at + _PAUSE_SECONDS:
            raise InvalidTokenError("the token is signed with an unknown key")
        self._asked_at = time.monotonic()
        key = await self._fetch(key_id)
        if len(self._keys) >= _MOST_KEYS:
            del self._keys[next(iter(self._keys))]
        self._keys[key_id] = key
        return key

    async def _fetch(self, key_id: str) -> bytes:
        import httpx  # noqa: PLC0415 - only with a token

        async with httpx.AsyncClient(timeout=_TIMEOUT_SECONDS) as http:
            response = await http.get(self._keys_url + key_id)
        if response.is_client_error:
            raise InvalidTokenError("the token is signed with an unknown key")
        response.raise_for_status()
        return response.content[:_MOST_BYTES]
