"""Keeps web pages from using an agent on one's own machine through one's browser."""

from __future__ import annotations

import functools
import logging
import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from a2a_adapters.contract.text import clipped
from a2a_adapters.net.addresses import is_loopback
from a2a_adapters.security.refusals import Refusal

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from starlette.types import Scope

_PORT = re.compile(r":\d*$")
_LONGEST = 300
"""More than the longest name of a host (RFC 1035, 2.3.4) with its scheme and port."""

logger = logging.getLogger(__name__)


class BrowserGuard:
    """Tells what to refuse for agents that ask nobody who they are.

    A page that a browser shows can send requests to this machine (CSRF), and by DNS rebinding
    even read the answers. Both are told by their `Origin` or `Host`. Requests that come in on
    an address of the network are let through: whoever serves there has opened the agent.

    Args:
        allowed_hosts: Names besides this machine's that requests may carry; `*` is any.
        allowed_origins: Origins that requests may carry, too.
    """

    def __init__(self, allowed_hosts: Iterable[str], allowed_origins: Iterable[str] = ()) -> None:
        self._origins = frozenset(allowed_origins)
        self._allowed = frozenset(host.lower() for host in allowed_hosts)
        # Bounded: the values are whatever a client sends.
        self._refusal = functools.lru_cache(maxsize=64)(self._check)

    def refusal(self, scope: Scope, headers: Mapping[str, str]) -> Refusal | None:
        """Return why a request is refused, None if it is not."""
        server = scope.get("server")
        if server is None or not is_loopback(server[0]):
            return None
        for name in ("host", "origin"):
            value = headers.get(name)
            if value is None:
                continue
            # What is longer names nobody, and is not kept in the cache.
            known = value if len(value) <= _LONGEST else ""
            if (refusal := self._refusal(name, known)) is not None:
                method, path = scope["method"], clipped(scope["path"])
                logger.warning("refused %s %r: %s", method, path, refusal.message)
                return refusal
        return None

    def _check(self, name: str, value: str) -> Refusal | None:
        if name == "host":
            status, reason, kind, host = 421, "FAILED_PRECONDITION", "host", _without_port(value)
        elif value in self._origins:
            return None
        else:
            status, reason, kind, host = 403, "PERMISSION_DENIED", "origin", _host_of(value)
        if is_loopback(host) or host in self._allowed or "*" in self._allowed:
            return None
        return Refusal(status, reason, _remedy(kind, host))


def _without_port(authority: str) -> str:
    return _PORT.sub("", authority).strip("[]").lower()


def _host_of(origin: str) -> str:
    """Return the host of an origin, or the origin if it has none, as `null`."""
    try:
        return urlsplit(origin).hostname or origin
    except ValueError:
        return origin


def _remedy(kind: str, host: str) -> str:
    host = clipped(host)
    return (
        f"the {kind} {host!r} is not this machine; if it is right, the one who serves the agent "
        f"allows it by ServerOptions(allowed_hosts=[{host!r}]) or --allow-host, "
        "or asks callers for credentials"
    )
