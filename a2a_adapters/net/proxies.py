"""Chooses the HTTP proxy for a URL."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from a2a_adapters.contract.errors import ConfigurationError
from a2a_adapters.contract.text import quote
from a2a_adapters.net.addresses import is_loopback

if TYPE_CHECKING:
    import httpx


_SCHEMES = frozenset({"http", "https", "socks5", "socks5h"})
"""The schemes of proxies that httpx supports."""


class Proxies:
    """The proxies for the URLs of a client: the given one, or those of the environment.

    The variables are `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY`, also in lower case,
    or the settings of macOS or Windows. This machine is never called through a proxy.

    Args:
        given: The URL of the proxy; "" for none, None for the environment's.
    """

    def __init__(self, given: str | None) -> None:
        self._given = given
        self._by_scheme = getproxies() if given is None else {}

    def of(self, url: httpx.URL) -> str:
        """Return the proxy for a URL, or ""."""
        if self._given == "" or not (self._given or self._by_scheme) or is_loopback(url.host):
            return ""
        if self._given is not None:
            return self._given
        found = self._by_scheme.get(url.scheme) or self._by_scheme.get("all", "")
        if not found or proxy_bypass(url.netloc.decode("ascii")):
            return ""
        return found if "://" in found else f"http://{found}"


def check_proxy(url: str | None) -> None:
    """Raise `ConfigurationError` unless `url` is that of a proxy, "" or None."""
    if url is None or url == "":
        return
    try:
        parts = urlsplit(url)
        is_usable = parts.scheme in _SCHEMES and bool(parts.hostname)
    except ValueError:
        is_usable = False
    if not is_usable:
        raise ConfigurationError(
            f"the proxy {shown_proxy(url)} cannot be used: its URL must be of the form "
            "http://host:port"
        )


def shown_proxy(url: str) -> str:
    """Return the URL of a proxy for messages, without its password."""
    return quote(url.rpartition("@")[2])
