"""Credentials for remote agents, and the hosts that may receive them.

Any `httpx.Auth` can be used; these are the common ones. A secret may be a callable, which is called
for each request in the caller's context and so can return the current user's token.
"""

from __future__ import annotations

import inspect
import logging
import re
from collections.abc import Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import httpx

from a2a_adapters.calling.errors import RemoteAuthError
from a2a_adapters.contract.checking import check_type
from a2a_adapters.contract.errors import A2AAdaptersError, ConfigurationError
from a2a_adapters.contract.plugins import installed_plugins
from a2a_adapters.contract.text import quote
from a2a_adapters.net.addresses import is_loopback

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Generator

    from a2a.types import AgentCard, SecurityScheme

    from a2a_adapters.calling.options import RemoteOptions

Secret: TypeAlias = "str | Callable[[], str | Awaitable[str]]"  # noqa: S105 - a type
"""A secret, or a sync or async callable that returns it."""


class CallAuth(NamedTuple):
    """Headers of one call, and the credentials that replace the agent's, if any."""

    headers: Mapping[str, str] | None = None
    auth: httpx.Auth | None = None


call_auth: ContextVar[CallAuth] = ContextVar("call_auth", default=CallAuth())  # noqa: B039 - a tuple
"""Those of the current call, for servers that may receive credentials."""

DESTINATION = "a2a_adapters.destination"
"""Request extension: the client's `TrustedHostAuth`, for credentials that depend on the agent."""

_INVALID_VALUE = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]|^[ \t]|[ \t]$")
"""Matches invalid header values (RFC 9110, section 5.5)."""


class HeaderAuth(httpx.Auth):
    """Sends a secret in a header."""

    def __init__(self, secret: Secret, header: str, prefix: str = "") -> None:
        if isinstance(secret, str):
            _check_value(header, secret)
            if not secret:
                raise ConfigurationError("the secret is empty; omit auth for an open agent")
        elif not callable(secret):
            raise ConfigurationError(
                f"the secret must be a string or a callable, not {type(secret).__name__}"
            )
        self._secret = secret
        self._header = header
        self._prefix = prefix

    async def async_auth_flow(
        self, request: httpx.Request
    ) -> AsyncGenerator[httpx.Request, httpx.Response]:
        """Add the header to the request."""
        secret = self._secret if isinstance(self._secret, str) else self._secret()
        if inspect.isawaitable(secret):
            secret = await secret
        request.headers[self._header] = self._prefix + secret
        yield request


class BearerAuth(HeaderAuth):
    """Sends `Authorization: Bearer <token>` (RFC 6750).

    Args:
        token: The token, or a sync or async callable that returns it.
    """

    def __init__(self, token: Secret) -> None:
        super().__init__(token, "Authorization", "Bearer ")


class ApiKeyAuth(HeaderAuth):
    """Sends an API key in a header.

    Args:
        key: The key, or a sync or async callable that returns it.
        header: The header's name, which the card's security scheme specifies.
    """

    def __init__(self, key: Secret, header: str = "X-API-Key") -> None:
        super().__init__(key, header)


class HeadersAuth(httpx.Auth):
    """Sends arbitrary headers, given as a mapping of names to values."""

    def __init__(self, headers: Mapping[str, str]) -> None:
        check_headers(headers)
        self._headers = headers

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response]:
        """Add the headers to the request."""
        request.headers.update(self._headers)
        yield request


def check_auth(auth: object) -> None:
    """Raise `ConfigurationError` unless `auth` is None or can authenticate requests."""
    check_type("auth", auth, httpx.Auth, "BearerAuth(...), ApiKeyAuth(...) or another httpx.Auth")


def check_headers(headers: object) -> None:
    """Check the headers that a caller gives.

    Raises:
        ConfigurationError: They are not a mapping of ASCII strings.
    """
    check_type("headers", headers, Mapping, "a mapping of names to values")
    for name, value in headers.items() if isinstance(headers, Mapping) else ():
        _check_value(name, value)


def _check_value(name: object, value: object) -> None:
    """Raise `ConfigurationError`, without the value, unless both are ASCII strings."""
    if not (isinstance(name, str) and isinstance(value, str) and (name + value).isascii()):
        raise ConfigurationError(f"the header {name!r} cannot be sent: it must be ASCII text")


class TrustedHostAuth(httpx.Auth):
    """Withholds credentials and call headers from untrusted servers that a card names.

    The call headers include those of the current trace.
    """

    def __init__(self, auth: httpx.Auth | None, trust: Trust, options: RemoteOptions) -> None:
        self._auth = auth
        self.trust = trust
        self.options = options
        self.card: AgentCard | None = None  # until it is known

    @property
    def adds_nothing(self) -> bool:
        """Whether there is nothing to add to a request."""
        return (call_auth.get().auth or self._auth) is None and not _headers()

    async def async_auth_flow(
        self, request: httpx.Request
    ) -> AsyncGenerator[httpx.Request, httpx.Response]:
        """Authenticate the request unless its server is untrusted."""
        call, headers = call_auth.get(), _headers()
        auth = call.auth or self._auth
        if (auth is None and not headers) or not self.trust.gets_credentials(request.url):
            if auth is not None or call.headers:
                self.trust.warn_once(request.url)
            yield request
            return
        request.extensions[DESTINATION] = self
        flow = (auth or httpx.Auth()).async_auth_flow(request)
        try:
            prepared = await _step(anext(flow))
            while prepared is not None:
                if prepared is request:
                    request.headers.update(headers)
                _check_headers(prepared)
                response = yield prepared
                prepared = await _step(flow.asend(response))
        finally:
            await flow.aclose()


def _headers() -> dict[str, str]:
    """Return the headers of the current call and of its trace."""
    return installed_plugins().telemetry.headers() | dict(call_auth.get().headers or {})


def _check_headers(request: httpx.Request) -> None:
    """Check header values here, because the error of h11 would quote the secret."""
    for name, value in request.headers.raw:
        if _INVALID_VALUE.search(value):
            raise RemoteAuthError(
                f"the header {name.decode('latin-1')} cannot be sent: its value begins or ends "
                "with a space, or has a line break"
            )


async def _step(step: Awaitable[httpx.Request]) -> httpx.Request | None:
    """Return the next request of an authentication flow, or None at its end."""
    try:
        return await step
    except StopAsyncIteration:
        return None
    except A2AAdaptersError:
        raise
    except Exception as error:
        raise RemoteAuthError(f"cannot get the credentials: {type(error).__name__}") from error


_PORTS = {"http": 80, "https": 443}

logger = logging.getLogger(__name__)


class Trust:
    """Decides which hosts are trusted.

    Args:
        origin: The agent's own address; None if its card was given, which is trusted.
        named: Additional trusted hosts, as `host` or `host:port`.
    """

    def __init__(self, origin: httpx.URL | None, named: Collection[str]) -> None:
        self.origin = origin
        self._named = frozenset(named)
        self._has_warned = False

    def knows(self, url: httpx.URL) -> bool:
        """Return whether the outbound policy does not apply to a URL.

        That is the case for the agent's own host, on any port, and for trusted hosts. The names of
        this machine are one host.
        """
        if self.origin is None or self._is_named(url):
            return True
        return url.host == self.origin.host or (
            is_loopback(url.host) and is_loopback(self.origin.host)
        )

    def gets_credentials(self, url: httpx.URL) -> bool:
        """Return whether a URL may get credentials.

        Only the agent's own origin and trusted hosts may: another port may belong to someone else.
        """
        if self.origin is None or self._is_named(url):
            return True
        return _origin(url) == _origin(self.origin)

    def warn_once(self, url: httpx.URL) -> None:
        """Log the first URL that gets no credentials, and the option that would change that."""
        if not self._has_warned:
            self._has_warned = True
            scheme, host, port = _origin(url)
            logger.warning(
                "%s://%s:%s is not the origin of the agent's card, and gets no credentials; "
                "RemoteOptions(trusted_hosts=['%s:%s']) would send them",
                *(scheme, host, port, host, port),
            )

    def _is_named(self, url: httpx.URL) -> bool:
        _, host, port = _origin(url)
        return host in self._named or f"{host}:{port}" in self._named


def _origin(url: httpx.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port or _PORTS.get(url.scheme)


_LENGTH = 60
_SHOWN = 5


def wanted_credentials(card: AgentCard) -> str:
    """Describe the credentials that a card requires; "" if it does not say."""
    alternatives = [list(required.schemes) for required in card.security_requirements]
    alternatives = alternatives or [[name] for name in card.security_schemes]
    described = [
        " and ".join(_credential(card.security_schemes[name]) for name in names[:_SHOWN])
        for names in alternatives[:_SHOWN]
        if names and all(name in card.security_schemes for name in names)
    ]
    return " or ".join(described)


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
