"""The policy for connections to URLs that other parties choose."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import httpx

from a2a_adapters.contract.checking import check_fields
from a2a_adapters.contract.errors import ForbiddenUrlError
from a2a_adapters.net.addresses import Reach, reach
from a2a_adapters.net.dns import Resolver, resolve

__all__ = ["OutboundPolicy"]

_PORTS = {"http": 80, "https": 443}
_ALL_PORTS = range(1, 1 << 16)
_TIMEOUT = httpx.Timeout(30, connect=10)
_CONNECTIONS = httpx.Limits(max_connections=100, max_keepalive_connections=20, keepalive_expiry=3)


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboundPolicy:
    """Decides which URLs may be connected to. By default only public web servers.

    A host is resolved once per connection, all its addresses are checked, and the connection uses
    one of them, which defeats DNS rebinding. Proxies of the environment are not used, because they
    would resolve the host again.

    Attributes:
        https_only: Whether to refuse plain `http`.
        allow_private: Whether to allow this machine and private networks. Link-local, multicast,
            reserved and cloud metadata addresses are refused even then.
        allowed_hosts: Names and addresses that are allowed whatever they resolve to.
        ports: The allowed ports; None allows any.
        resolve_seconds: Maximum time for resolving a name.
        resolver: Resolves names; by default the system's resolver, in separate threads.

    Raises:
        ConfigurationError: A value has the wrong type or is out of range.
    """

    https_only: bool = False
    allow_private: bool = False
    allowed_hosts: frozenset[str] = frozenset()
    ports: frozenset[int] | None = None
    resolve_seconds: float = 5
    resolver: Resolver = field(default=resolve, repr=False)

    def __post_init__(self) -> None:
        check_fields(self, {"resolve_seconds"})

    def client(
        self,
        *,
        timeout: httpx.Timeout | float = _TIMEOUT,
        ssl_context: ssl.SSLContext | None = None,
    ) -> httpx.AsyncClient:
        """Return a client that obeys the policy and does not follow redirects."""
        transport = self.transport(ssl_context=ssl_context)
        return httpx.AsyncClient(transport=transport, timeout=timeout, follow_redirects=False)

    def transport(
        self, *, ssl_context: ssl.SSLContext | None = None, limits: httpx.Limits = _CONNECTIONS
    ) -> httpx.AsyncBaseTransport:
        """Return an `httpx.AsyncClient` transport whose requests may raise `ForbiddenUrlError`.

        Args:
            ssl_context: Verifies servers; by default as httpx does.
            limits: The limits of the connection pool.
        """
        # A server that sends nothing does without httpcore.
        from a2a_adapters.net.transport import PooledTransport  # noqa: PLC0415

        return PooledTransport(ssl_context, limits, self.addresses, self.check_form)

    async def check(self, url: str) -> None:
        """Check that a URL may be connected to.

        A host that cannot be resolved is accepted: it is checked again when connecting.

        Raises:
            ForbiddenUrlError: The URL is not allowed.
        """
        if any(character.isspace() for character in url):
            raise ForbiddenUrlError("a URL has no blanks")  # httpx would encode them
        try:
            parsed = httpx.URL(url)
        except (httpx.InvalidURL, ValueError) as error:
            raise ForbiddenUrlError("it is not a URL") from error
        self.check_form(parsed)
        with suppress(OSError):
            await self.addresses(parsed.raw_host.decode("ascii"), _port(parsed))

    def check_form(self, url: httpx.URL) -> None:
        """Check a URL without resolving its host.

        Raises:
            ForbiddenUrlError: The scheme, the port or the lack of a host is not allowed.
        """
        if url.scheme not in _PORTS or (self.https_only and url.scheme != "https"):
            wanted = "https" if self.https_only else "http or https"
            raise ForbiddenUrlError(f"a URL with {wanted} is needed, not {url.scheme!r}")
        if not url.raw_host:
            raise ForbiddenUrlError("the URL names no host")
        try:
            url.raw_host.decode("ascii").encode("idna")
            host = url.host
        except UnicodeError as error:
            raise ForbiddenUrlError("the URL names a host that cannot be") from error
        if url.userinfo:
            raise ForbiddenUrlError(f"the URL of {host} must not hold credentials")
        port = _port(url)
        if port not in _ALL_PORTS or (self.ports is not None and port not in self.ports):
            raise ForbiddenUrlError(f"port {port} of {host} is not allowed")

    async def check_proxied(self, url: httpx.URL) -> None:
        """Check a URL before a proxy is asked for it; the proxy resolves the host itself.

        Raises:
            ForbiddenUrlError: The URL is not allowed, or its host cannot be resolved here.
        """
        self.check_form(url)
        if self.is_named(url.host):
            return
        try:
            await self.addresses(url.raw_host.decode("ascii"), url.port or 0)
        except OSError as error:
            raise ForbiddenUrlError(
                f"{url.host} cannot be resolved here, so that the proxy might connect to any host",
                host=url.host,
            ) from error

    async def addresses(self, host: str, port: int) -> Sequence[str]:
        """Resolve a host and check all its addresses.

        Raises:
            ForbiddenUrlError: An address is not allowed.
            OSError: The host has no address, or could not be resolved in time.
        """
        async with asyncio.timeout(self.resolve_seconds):
            found = list(dict.fromkeys(await self.resolver(host, port)))
        if not found:
            raise OSError(f"{host} has no address")
        if not self.is_named(host):
            for address in found:
                self._check_address(host, address)
        return found

    def is_named(self, host: str) -> bool:
        """Return whether a host is one of `allowed_hosts`."""
        name = host.lower().rstrip(".")
        return any(name == allowed.lower().rstrip(".") for allowed in self.allowed_hosts)

    def _check_address(self, host: str, address: str) -> None:
        kind = reach(address)
        if kind is Reach.PUBLIC or (kind is Reach.PRIVATE and self.allow_private):
            return
        raise ForbiddenUrlError(
            f"{host} has the {kind.value} address {address}",
            host=host,
            is_private=kind is Reach.PRIVATE,
        )


def _port(url: httpx.URL) -> int:
    return _PORTS[url.scheme] if url.port is None else url.port
