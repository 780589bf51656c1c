"""Refuses requests by their headers: ambiguous ones, and those of foreign web pages."""

from __future__ import annotations

import functools
import logging
import re
from typing import TYPE_CHECKING

from a2a_adapters.contract.text import clipped
from a2a_adapters.net.addresses import is_loopback
from a2a_adapters.security.refusals import Refusal

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from starlette.types import Scope

HOST = r"(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._~!$&'()*+;=%-]*)"
"""A host in a URI (RFC 3986, section 3.2.2), without zones and without commas."""

_ORIGIN = re.compile(rf"[a-z][a-z0-9+.-]*://({HOST})(?::\d*)?", re.ASCII)
_PORT = re.compile(r":\d*$")
_AUTHORITY = re.compile(rf"{HOST}(?::\d*)?", re.ASCII)
_LONGEST = 300
"""Exceeds the longest host name (RFC 1035, section 2.3.4) with a scheme and a port."""

_CLOSE = {"Connection": "close"}
_HOST = Refusal(400, "INVALID_ARGUMENT", "the request needs one valid header Host", _CLOSE)
_CODING = Refusal(
    400,
    "INVALID_ARGUMENT",
    "the header Transfer-Encoding may only be chunked, without Content-Length",
    _CLOSE,
)

logger = logging.getLogger(__name__)


def malformed(headers: Mapping[str, str]) -> Refusal | None:
    """Return the reason to refuse a request with several hosts or lengths, or None.

    A proxy in front may understand it differently.

    Args:
        headers: The headers by lower-case name; values of repeated headers are joined by commas.
    """
    host = headers.get("host")
    if host is not None and (len(host) > _LONGEST or not _is_authority(host)):
        return _HOST
    coding = headers.get("transfer-encoding")
    if coding is not None and (coding.lower() != "chunked" or "content-length" in headers):
        return _CODING
    return None


@functools.lru_cache(maxsize=64)  # bounded, because clients choose the values
def _is_authority(host: str) -> bool:
    return _AUTHORITY.fullmatch(host) is not None


class BrowserGuard:
    """Refuses requests of web pages to agents without authentication.

    A page can make its browser send requests to this machine (CSRF), and by DNS rebinding even read
    the answers. `Origin` and `Host` reveal both. Requests to addresses of the network are allowed,
    because serving there opens the agent anyway.

    Args:
        allowed_hosts: Additional host names that requests may have; `*` is any.
        allowed_origins: Additional origins that requests may have.
        open_paths: Paths that every request may read, because they reveal nothing.
    """

    def __init__(
        self,
        allowed_hosts: Iterable[str],
        allowed_origins: Iterable[str] = (),
        open_paths: Iterable[str] = (),
    ) -> None:
        self._open_paths = frozenset(open_paths)
        self._origins = frozenset(allowed_origins)
        self._allowed = frozenset(host.lower() for host in allowed_hosts)
        # Bounded, because clients choose the values.
        self._refusal = functools.lru_cache(maxsize=64)(self._check)

    def refusal(self, scope: Scope, headers: Mapping[str, str]) -> Refusal | None:
        """Return the reason to refuse a request, or None."""
        server = scope.get("server")
        if server is None or not is_loopback(server[0]):
            return None
        for name in ("host", "origin"):
            value = headers.get(name)
            if value is None:
                continue
            # Longer values are invalid, and must not fill the cache.
            known = value if len(value) <= _LONGEST else ""
            if (refusal := self._refusal(name, known)) is not None:
                if scope["path"].removeprefix(scope.get("root_path", "")) in self._open_paths:
                    return None
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
    """Return the host of an origin, or the origin itself if it has none (`null`)."""
    found = _ORIGIN.fullmatch(origin)
    return found[1].strip("[]").lower() if found and found[1] else origin


def _remedy(kind: str, host: str) -> str:
    host = clipped(host)
    return (
        f"the {kind} {host!r} is not this machine; if it is intended, the agent's operator can "
        f"allow it by ServerOptions(allowed_hosts=[{host!r}]) or --allow-host, "
        "or require credentials"
    )
