"""Credentials for remote agents.

Any `httpx.Auth` will do; these are the usual two. A callable in place of the secret is called
for every request, in the caller's own context, so that each user's own token can be sent.
"""

from __future__ import annotations

import inspect
import re
from contextvars import ContextVar
from typing import TYPE_CHECKING, TypeAlias

import httpx

from a2a_adapters.calling.errors import RemoteAuthError
from a2a_adapters.contract.errors import A2AAdaptersError, ConfigurationError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping

    from a2a_adapters.calling.trust import Trust

__all__ = ["ApiKeyAuth", "BearerAuth"]

Secret: TypeAlias = "str | Callable[[], str | Awaitable[str]]"  # noqa: S105 - a type
"""A secret, or what returns it."""

call_headers: ContextVar[Mapping[str, str] | None] = ContextVar("call_headers", default=None)
"""Headers of the requests that are made now, for servers that get the credentials."""

_UNSENDABLE = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]|^[ \t]|[ \t]$")
"""What no value of a header may have (RFC 9110, section 5.5)."""


class HeaderAuth(httpx.Auth):
    """A secret in a header."""

    def __init__(self, secret: Secret, header: str, prefix: str = "") -> None:
        if isinstance(secret, str) and not secret:
            raise ConfigurationError("an empty secret; leave auth away for an open agent")
        self._secret = secret
        self._header = header
        self._prefix = prefix

    async def async_auth_flow(
        self, request: httpx.Request
    ) -> AsyncGenerator[httpx.Request, httpx.Response]:
        """Add the header."""
        secret = self._secret if isinstance(self._secret, str) else self._secret()
        if inspect.isawaitable(secret):
            secret = await secret
        request.headers[self._header] = self._prefix + secret
        yield request


class BearerAuth(HeaderAuth):
    """`Authorization: Bearer <token>` (RFC 6750).

    Args:
        token: The token, or a callable that returns it, sync or async.
    """

    def __init__(self, token: Secret) -> None:
        super().__init__(token, "Authorization", "Bearer ")


class ApiKeyAuth(HeaderAuth):
    """An API key in a header.

    Args:
        key: The key, or a callable that returns it, sync or async.
        header: The header's name, as the card's security scheme tells it.
    """

    def __init__(self, key: Secret, header: str = "X-API-Key") -> None:
        super().__init__(key, header)


class HeadersAuth(httpx.Auth):
    """Headers of any kind.

    Args:
        headers: Their values by their names.
    """

    def __init__(self, headers: Mapping[str, str]) -> None:
        self._headers = headers

    async def async_auth_flow(
        self, request: httpx.Request
    ) -> AsyncGenerator[httpx.Request, httpx.Response]:
        """Add the headers."""
        request.headers.update(self._headers)
        yield request


class TrustedHostAuth(httpx.Auth):
    """Keeps credentials, and headers of calls, from servers that only a fetched card has named.

    Args:
        auth: The credentials, if there are any.
        trust: Who gets them.
    """

    def __init__(self, auth: httpx.Auth | None, trust: Trust) -> None:
        self._auth = auth
        self._trust = trust

    @property
    def adds_nothing(self) -> bool:
        """Whether requests stay as they are."""
        return self._auth is None and not call_headers.get()

    async def async_auth_flow(
        self, request: httpx.Request
    ) -> AsyncGenerator[httpx.Request, httpx.Response]:
        """Leave requests to other servers as they are."""
        if self.adds_nothing:
            yield request
            return
        if not self._trust.gets_credentials(request.url):
            self._trust.tell(request.url)
            yield request
            return
        headers = call_headers.get() or {}
        flow = (self._auth or httpx.Auth()).async_auth_flow(request)
        try:
            prepared = await _step(anext(flow))
            while prepared is not None:
                if prepared is request:
                    request.headers.update(headers)
                _check(prepared)
                response = yield prepared
                prepared = await _step(flow.asend(response))
        finally:
            await flow.aclose()


def _check(request: httpx.Request) -> None:
    """Refuse what cannot be sent: the error of the line would quote the secret."""
    for name, value in request.headers.raw:
        if _UNSENDABLE.search(value):
            raise RemoteAuthError(
                f"the header {name.decode('latin-1')} cannot be sent: its value begins or ends "
                "with a space, or has a line break"
            )


async def _step(step: Awaitable[httpx.Request]) -> httpx.Request | None:
    """Return the next request of an authentication flow, None at its end."""
    try:
        return await step
    except StopAsyncIteration:
        return None
    except A2AAdaptersError:
        raise
    except Exception as error:
        raise RemoteAuthError(f"the credentials cannot be had: {type(error).__name__}") from error
