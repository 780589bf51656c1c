"""The common part of authenticators whose tokens have claims."""

from __future__ import annotations

from abc import abstractmethod
from copy import deepcopy
from typing import TYPE_CHECKING, Any, TypeAlias

from a2a_adapters.contract.caller import Caller
from a2a_adapters.contract.errors import ForbiddenError
from a2a_adapters.security.api_keys import InvalidTokenError
from a2a_adapters.security.authenticator import Authenticator

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Claims: TypeAlias = "dict[str, Any]"


class ClaimedTokens(Authenticator):
    """Reads the user, scopes and tenant from the claims of a verified token.

    Args:
        scopes: Scopes required in `scope` (or `scp`); without them the response is 403.
        user_claim: The claim with the user's name.
        tenant_claim: The claim with the name of the user's tenant, if any.
    """

    def __init__(
        self, scopes: Iterable[str] = (), user_claim: str = "sub", tenant_claim: str | None = None
    ) -> None:
        self._scopes = frozenset(scopes)
        self._user_claim = user_claim
        self._tenant_claim = tenant_claim

    @abstractmethod
    async def verified(self, headers: Mapping[str, str]) -> Claims:
        """Return the claims of a request's token.

        Raises:
            UnauthenticatedError: There is no valid token.
        """

    async def authenticate(self, headers: Mapping[str, str]) -> str:
        """Return the user that the token names."""
        return self._user(await self.verified(headers))

    async def identify(self, headers: Mapping[str, str]) -> Caller:
        """Return the user that the token names, with its claims, scopes and tenant."""
        claims = deepcopy(await self.verified(headers))  # agents may change them
        owner = self._user(claims)
        tenant = claims.get(self._tenant_claim, "") if self._tenant_claim else ""
        if not isinstance(tenant, str):
            raise InvalidTokenError("the token does not name its tenant")
        return Caller(owner=owner, claims=claims, scopes=_granted(claims), tenant=tenant)

    def _user(self, claims: Claims) -> str:
        user = claims.get(self._user_claim)
        if not isinstance(user, str) or not user:
            raise InvalidTokenError("the token does not name its user")
        if missing := self._scopes - _granted(claims):
            names = " ".join(sorted(missing))
            challenge = f'Bearer error="insufficient_scope", scope="{names}"'
            raise ForbiddenError(f"the token lacks the scope {names}", challenge=challenge)
        return user


def _granted(claims: Claims) -> frozenset[str]:
    """Return the scopes of a token, from RFC 8693's string or a list."""
    scopes = claims.get("scope", claims.get("scp", ""))
    if isinstance(scopes, str):
        return frozenset(scopes.split())
    return frozenset(map(str, scopes)) if isinstance(scopes, list) else frozenset()
