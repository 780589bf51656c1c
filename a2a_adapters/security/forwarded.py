"""Users that a front has authenticated, such as a proxy or a platform."""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_adapters.contract.checking import check_arguments
from a2a_adapters.contract.errors import UnauthenticatedError
from a2a_adapters.security.api_keys import check_header
from a2a_adapters.security.authenticator import Authenticator

if TYPE_CHECKING:
    from collections.abc import Mapping

    from a2a.types import SecurityScheme


class ForwardedUser(Authenticator):
    """Accepts the user named by a front in a header, without proof.

    So the front must be the only way to the server, and must replace the header if a client sends
    it. It needs `ServerOptions(trust_forwarded=True)`. The card names no scheme, because callers
    authenticate to the front: describe that in your `Authenticator`, if clients need it.

    Args:
        header: The header with a name that is unique to the user.

    Raises:
        ConfigurationError: `header` cannot be the name of a header.
    """

    trusts_front = True

    def __init__(self, header: str = "X-Forwarded-User") -> None:
        check_arguments(ForwardedUser, locals())
        check_header(header)
        self._header = header
        self._name = header.lower()

    def security_schemes(self) -> Mapping[str, SecurityScheme]:
        """Return no scheme."""
        return {}

    async def authenticate(self, headers: Mapping[str, str]) -> str:
        """Return the user in the header."""
        user = headers.get(self._name, "")
        if not user:
            raise UnauthenticatedError(f"the request names no user in {self._header}")
        if "," in user:  # a client's value beside that of the front
            raise UnauthenticatedError(f"the request names several users in {self._header}")
        return user
