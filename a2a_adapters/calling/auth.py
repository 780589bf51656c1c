"""Credentials for remote agents: how they are sent, who gets them, and which ones a card asks for.

Any `httpx.Auth` will do; these are the usual ones. A callable in place of the secret is called
for every request, in the caller's own context, so that each user's own token can be sent.
"""

from __future__ import annotations

import inspect
import logging
import re
from contextvars import ContextVar
from typing import TYPE_CHECKING, TypeAlias

import httpx

from a2a_adapters.calling.errors import RemoteAuthError
from a2a_adapters.contract.errors import A2AAdaptersError, ConfigurationError
from a2a_adapters.contract.text import quote

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping

    from a2a.types import AgentCard, SecurityScheme

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


_PORTS = {"http": 80, "https": 443}

logger = logging.getLogger(__name__)


class Trust:
    """Which addresses are the agent's own, or as good as that.

    Args:
        origin: The agent's own address; None if its card was given, which is trusted.
        named: Hosts that are trusted besides, as `host` or `host:port`.
    """

    def __init__(self, origin: httpx.URL | None, named: Collection[str]) -> None:
        self._origin = origin
        self._named = frozenset(named)
        self._has_told = False

    def knows(self, url: httpx.URL) -> bool:
        """Tell whether it is the agent's own host, at any port, or a trusted one."""
        return self._origin is None or url.host == self._origin.host or self._is_named(url)

    def gets_credentials(self, url: httpx.URL) -> bool:
        """Tell whether it is the agent's own scheme, host and port, or a trusted host.

        Another server at the agent's host may be anybody's.
        """
        if self._origin is None or self._is_named(url):
            return True
        return (url.scheme, url.host, _port(url)) == (
            self._origin.scheme,
            self._origin.host,
            _port(self._origin),
        )

    def tell(self, url: httpx.URL) -> None:
        """Log once that an address gets no credentials, and what would give it them."""
        if not self._has_told:
            self._has_told = True
            logger.warning(
                "%s://%s:%s is not the origin of the agent's card, and gets no credentials; "
                "RemoteOptions(trusted_hosts=['%s:%s']) would send them",
                url.scheme,
                url.host,
                _port(url),
                url.host,
                _port(url),
            )

    def _is_named(self, url: httpx.URL) -> bool:
        return url.host in self._named or f"{url.host}:{_port(url)}" in self._named


def _port(url: httpx.URL) -> int | None:
    return url.port or _PORTS.get(url.scheme)


_LENGTH = 60
_SHOWN = 5


def wanted_credentials(card: AgentCard) -> str:
    """Return what has to be sent to an agent, "" if its card does not say."""
    ways = [list(way.schemes) for way in card.security_requirements]
    ways = ways or [[name] for name in card.security_schemes]
    told = [
        " and ".join(_credential(card.security_schemes[name]) for name in names[:_SHOWN])
        for names in ways[:_SHOWN]
        if names and all(name in card.security_schemes for name in names)
    ]
    return " or ".join(told)


def _credential(scheme: SecurityScheme) -> str:
    match scheme.WhichOneof("scheme"):
        case "http_auth_security_scheme":
            name = scheme.http_auth_security_scheme.scheme
            return f"{quote(name, _LENGTH)} credentials in the header Authorization"
        case "api_key_security_scheme":
            key = scheme.api_key_security_scheme
            return f"an API key in the {quote(key.location, _LENGTH)} {quote(key.name, _LENGTH)}"
        case "oauth2_security_scheme":
            return "a token of OAuth 2.0"
        case "open_id_connect_security_scheme":
            url = scheme.open_id_connect_security_scheme.open_id_connect_url
            return f"a token of OpenID Connect ({quote(url, 2 * _LENGTH)})"
        case "mtls_security_scheme":
            return "a client certificate (mutual TLS)"
        case _:
            return "credentials it does not describe"
