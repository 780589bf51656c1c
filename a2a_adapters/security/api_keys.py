"""Static API keys and bearer tokens."""

from __future__ import annotations

import re
from collections.abc import Mapping
from hashlib import blake2b
from secrets import token_bytes

from a2a.types import APIKeySecurityScheme, HTTPAuthSecurityScheme, SecurityScheme

from a2a_adapters.contract.checking import check_arguments, check_type
from a2a_adapters.contract.errors import ConfigurationError, UnauthenticatedError
from a2a_adapters.security.authenticator import Authenticator

# Characters that survive in a header: no spaces, no commas.
_SECRET = re.compile(r"[!-+\--~]+")
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")


def check_header(name: str) -> None:
    """Check the name of a header.

    Raises:
        ConfigurationError: It has characters that such a name cannot have.
    """
    if not _HEADER.fullmatch(name):
        raise ConfigurationError(f"{name!r} is not the name of a header")


class _Users:
    """The users by secret.

    It keeps digests with a random key, so that neither the duration of a look-up nor the memory of
    the process reveals the secrets.
    """

    def __init__(self, users: Mapping[str, str], kind: str) -> None:
        self._key = token_bytes(32)
        self._by_digest: dict[bytes, str] = {}
        check_type("users", users, Mapping, f"a mapping of each {kind} to its user")
        if not users:
            raise ConfigurationError(f"there is no {kind}, so the agent could not be used")
        for secret, user in users.items():
            if not user or not user.isprintable():
                raise ConfigurationError(f"every {kind} needs the name of its user")
            if not _SECRET.fullmatch(secret):
                raise ConfigurationError(f"a {kind} of {user!r} is empty or cannot be sent")
            self._by_digest[self._digest(secret)] = user

    def of(self, secret: str) -> str | None:
        return self._by_digest.get(self._digest(secret))

    def _digest(self, secret: str) -> bytes:
        return blake2b(secret.encode(), key=self._key, digest_size=32).digest()


class BearerTokens(Authenticator):
    """Accepts `Authorization: Bearer <token>` (RFC 6750).

    Args:
        users: User names by token.

    Raises:
        ConfigurationError: There is no token, or one cannot be sent in a header.
    """

    def __init__(self, users: Mapping[str, str]) -> None:
        self._users = _Users(users, "bearer token")

    def security_schemes(self) -> Mapping[str, SecurityScheme]:
        """Return the scheme `bearer`."""
        scheme = HTTPAuthSecurityScheme(scheme="Bearer")
        return {"bearer": SecurityScheme(http_auth_security_scheme=scheme)}

    async def authenticate(self, headers: Mapping[str, str]) -> str:
        """Return the token's user."""
        if (user := self._users.of(bearer_token(headers))) is None:
            raise InvalidTokenError("the bearer token is unknown")
        return user


class ApiKeys(Authenticator):
    """Accepts API keys in a header.

    Args:
        users: User names by key.
        header: The header's name.

    Raises:
        ConfigurationError: There is no key, or one cannot be sent in a header.
    """

    def __init__(self, users: Mapping[str, str], *, header: str = "X-API-Key") -> None:
        check_arguments(ApiKeys, {"header": header})
        check_header(header)
        self._users = _Users(users, "API key")
        self._header = header
        self._name = header.lower()
        self.challenge = f'ApiKey header="{header}"'

    def security_schemes(self) -> Mapping[str, SecurityScheme]:
        """Return the scheme `apiKey`."""
        scheme = APIKeySecurityScheme(location="header", name=self._header)
        return {"apiKey": SecurityScheme(api_key_security_scheme=scheme)}

    async def authenticate(self, headers: Mapping[str, str]) -> str:
        """Return the key's user."""
        key = headers.get(self._name)
        if key is None:
            raise UnauthenticatedError(f"send an API key in the header {self._header}")
        if (user := self._users.of(key)) is None:
            raise UnauthenticatedError("the API key is unknown")
        return user


class InvalidTokenError(UnauthenticatedError):
    """The bearer token is invalid (RFC 6750, section 3.1)."""

    def __init__(self, message: str) -> None:
        super().__init__(message, challenge='Bearer error="invalid_token"')


def bearer_token(headers: Mapping[str, str]) -> str:
    """Return the bearer token of a request, or raise `UnauthenticatedError`."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer":
        raise UnauthenticatedError("send a bearer token in the header Authorization")
    return token.strip()
