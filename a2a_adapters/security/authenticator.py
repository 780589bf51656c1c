"""The interface of authenticators."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING

from a2a_adapters.contract.caller import Caller
from a2a_adapters.contract.errors import ConfigurationError, ForbiddenError, UnauthenticatedError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from a2a.types import SecurityScheme


class Authenticator(ABC):
    """Authenticates callers, and describes for the card how they authenticate.

    Subclass it for other methods than the built-in ones. One object serves all requests
    concurrently.
    """

    challenge: str = "Bearer"
    """The `WWW-Authenticate` header of 401 responses to errors without their own (RFC 9110)."""

    trusts_front: bool = False
    """Whether it trusts an unsigned header of a proxy, see `ServerOptions.trust_forwarded`."""

    @abstractmethod
    def security_schemes(self) -> Mapping[str, SecurityScheme]:
        """Return alternative `a2a.types.SecurityScheme`s by name."""

    @abstractmethod
    async def authenticate(self, headers: Mapping[str, str]) -> str:
        """Return the name of the user who sent a request.

        The name owns tasks and conversations, so it must be unique to the user.

        Args:
            headers: The request's headers by lower-case name. Values of repeated headers are joined
                by commas.

        Raises:
            UnauthenticatedError: The credentials are missing or wrong.
            ForbiddenError: The user may not use the agent.
        """

    async def identify(self, headers: Mapping[str, str]) -> Caller:
        """Return the user who sent a request, with what is known about them.

        By default only the name, from `authenticate`, whose arguments and errors it shares.
        """
        return Caller(owner=await self.authenticate(headers))


class AnyOf(Authenticator):
    """Accepts the credentials of any of several authenticators, tried in order.

    Equal user names are one owner: `ann` with a token and `ann` with an API key.

    Raises:
        ConfigurationError: Two authenticators have different schemes of the same name.
    """

    def __init__(self, *authenticators: Authenticator) -> None:
        self._authenticators = authenticators
        self.trusts_front = any(each.trusts_front for each in authenticators)
        self._schemes: dict[str, SecurityScheme] = {}
        for authenticator in authenticators:
            for name, scheme in authenticator.security_schemes().items():
                if self._schemes.setdefault(name, scheme) != scheme:
                    raise ConfigurationError(f"there are two security schemes named {name!r}")

    def security_schemes(self) -> Mapping[str, SecurityScheme]:
        """Return the schemes of all authenticators."""
        return self._schemes

    async def authenticate(self, headers: Mapping[str, str]) -> str:
        """Return the name of the user whom `identify` returns."""
        return (await self._first(headers)).owner

    async def identify(self, headers: Mapping[str, str]) -> Caller:
        """Return the user of the first authenticator that accepts the request.

        Otherwise a `ForbiddenError`, or else another failure, takes precedence.
        """
        caller, is_own = await self._first(headers), type(self).authenticate is AnyOf.authenticate
        return caller if is_own else replace(caller, owner=await self.authenticate(headers))

    async def _first(self, headers: Mapping[str, str]) -> Caller:
        errors = []
        refusal: Exception | None = None
        for authenticator in self._authenticators:
            try:
                return await authenticator.identify(headers)
            except UnauthenticatedError as error:
                errors.append((str(error), error.challenge or authenticator.challenge))
            except Exception as error:  # a ForbiddenError, or a failing identity provider
                refusal = refusal if isinstance(refusal, ForbiddenError) else error
        if refusal:
            raise refusal
        messages, challenges = (dict.fromkeys(texts) for texts in zip(*errors, strict=True))
        raise UnauthenticatedError("; ".join(messages), challenge=", ".join(challenges))
