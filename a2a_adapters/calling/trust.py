"""Who gets the credentials for an agent."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

    import httpx

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
