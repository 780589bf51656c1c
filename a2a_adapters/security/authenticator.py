"""The interface of everything that finds out who is calling."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from a2a_adapters.contract.errors import ConfigurationError, ForbiddenError, UnauthenticatedError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from a2a.types import SecurityScheme

__all__ = ["AnyOf", "Authenticator"]


class Authenticator(ABC):
    """Finds out who is calling, and says in the card how to tell it.

    Subclass it for whatever is not built in. One object serves all requests at once.
    """

    challenge: str = "Bearer"
    """What a 401 answer's `WWW-Authenticate` says if the error says nothing (RFC 9110, 11.6.1)."""

    @abstractmethod
    def security_schemes(self) -> Mapping[str, SecurityScheme]:
        """Return the `a2a.types.SecurityScheme`s by name, any of which is enough."""

    @abstractmethod
    async def authenticate(self, headers: Mapping[str, str]) -> str:
        """Return the name of the user who sent these headers.

        The name owns the tasks and conversations: two people must never get the same one.

        Args:
            headers: The request's headers, their names in lower case. One that was sent more
                than once has its values joined by commas.

        Raises:
            UnauthenticatedError: There are no credentials, or wrong ones.
            ForbiddenError: The user is known, but may not use the agent.
        """


class AnyOf(Authenticator):
    """Takes the credentials of any of several authenticators, asked in their order.

    Their users are one set: `ann` with a token and `ann` with an API key are the same owner.

    Raises:
        ConfigurationError: Two of them describe different schemes under one name.
    """

    def __init__(self, *authenticators: Authenticator) -> None:
        self._authenticators = authenticators
        self._schemes: dict[str, SecurityScheme] = {}
        for authenticator in authenticators:
            for name, scheme in authenticator.security_schemes().items():
                if self._schemes.setdefault(name, scheme) != scheme:
                    raise ConfigurationError(f"there are two security schemes named {name!r}")

    def security_schemes(self) -> Mapping[str, SecurityScheme]:
        """Return the schemes of all."""
        return self._schemes

    async def authenticate(self, headers: Mapping[str, str]) -> str:
        """Return the user whom the first authenticator knows that knows anyone.

        One that forbids, or cannot tell at the moment, has its say if no other one knows the user.
        """
        errors = []
        refusal: Exception | None = None
        for authenticator in self._authenticators:
            try:
                return await authenticator.authenticate(headers)
            except UnauthenticatedError as error:
                errors.append((str(error), error.challenge or authenticator.challenge))
            except Exception as error:  # of an identity provider, or a ForbiddenError
                refusal = refusal if isinstance(refusal, ForbiddenError) else error
        if refusal:
            raise refusal
        messages, challenges = (dict.fromkeys(texts) for texts in zip(*errors, strict=True))
        raise UnauthenticatedError("; ".join(messages), challenge=", ".join(challenges))
