"""Keeps web pages from using an agent on one's own machine through one's browser."""

from __future__ import annotations

import functools
import logging
import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from a2a_adapters.headers import headers_of
from a2a_adapters.security.hosts import is_loopback
from a2a_adapters.security.refusals import Refusal, refuse

if TYPE_CHECKING:
    from collections.abc import Iterable

    from starlette.types import ASGIApp, Receive, Scope, Send

_PORT = re.compile(r":\d*$")

logger = logging.getLogger(__name__)


class BrowserGuard:
    """ASGI middleware for agents that ask nobody who they are.

    A page that a browser shows can send requests to this machine (CSRF), and by DNS rebinding
    even read the answers. Both are told by their `Origin` or `Host`. Requests that come in on
    an address of the network are let through: whoever serves there has opened the agent.

    Args:
        app: What is protected.
        allowed_hosts: Names besides this machine's that requests may carry; `*` is any.
    """

    def __init__(self, app: ASGIApp, allowed_hosts: Iterable[str]) -> None:
        self._app = app
        self._allowed = frozenset(host.lower() for host in allowed_hosts)
        # Bounded: the values are whatever a client sends.
        self._refusal = functools.lru_cache(maxsize=64)(self._check)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request (ASGI)."""
        if scope["type"] == "http" and _came_by_loopback(scope):
            headers = headers_of(scope)
            for name in ("host", "origin"):
                value = headers.get(name)
                if value is not None and (refusal := self._refusal(name, value)) is not None:
                    method, path = scope["method"], scope["path"]
                    logger.warning("refused %s %r: %s", method, path, refusal.message)
                    await refuse(refusal, scope, receive, send)
                    return
        await self._app(scope, receive, send)

    def _check(self, name: str, value: str) -> Refusal | None:
        if name == "host":
            status, reason, kind, host = 421, "FAILED_PRECONDITION", "host", _without_port(value)
        else:
            status, reason, kind, host = 403, "PERMISSION_DENIED", "origin", _host_of(value)
        if is_loopback(host) or host in self._allowed or "*" in self._allowed:
            return None
        return Refusal(status, reason, _remedy(kind, host))


def _came_by_loopback(scope: Scope) -> bool:
    server = scope.get("server")
    return server is not None and is_loopback(server[0])


def _without_port(authority: str) -> str:
    return _PORT.sub("", authority).strip("[]").lower()


def _host_of(origin: str) -> str:
    """Return the host of an origin, or the origin if it has none, as `null`."""
    try:
        return urlsplit(origin).hostname or origin
    except ValueError:
        return origin


def _remedy(kind: str, host: str) -> str:
    return (
        f"the {kind} {host!r} is not this machine; if it is right, the one who serves the agent "
        f"allows it by ServerOptions(allowed_hosts=[{host!r}]) or --allow-host, "
        "or asks callers for credentials"
    )
