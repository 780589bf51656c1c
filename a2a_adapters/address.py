"""The address under which an agent is reached."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from starlette.datastructures import URL, Headers

if TYPE_CHECKING:
    from starlette.types import Scope


@dataclass(frozen=True, slots=True)
class Address:
    """Where clients find an agent.

    Attributes:
        url: The server's public address; empty for the one a client has used.
        trust_forwarded: Whether `X-Forwarded-Proto`, `-Host` and `-Prefix` are believed.
        path: Where on the server the agent is.
    """

    url: str = ""
    trust_forwarded: bool = False
    path: str = ""

    def of(self, scope: Scope | None) -> str:
        """Return the address for a request, if there is one; without a slash at its end."""
        url = self.url or (self._requested(scope) if scope else "")
        return url.rstrip("/") + self.path

    def _requested(self, scope: Scope) -> str:
        root = scope.get("app_root_path", scope.get("root_path", ""))
        url = URL(scope={**scope, "path": root, "root_path": root, "query_string": b""})
        if self.trust_forwarded:
            headers = Headers(scope=scope)
            url = url.replace(
                scheme=_first(headers.get("x-forwarded-proto")) or url.scheme,
                netloc=_first(headers.get("x-forwarded-host")) or url.netloc,
                path=_first(headers.get("x-forwarded-prefix")) or url.path,
            )
        return str(url)


def _first(header: str | None) -> str:
    """Return the first of the values that a chain of proxies has put in a header."""
    return (header or "").split(",")[0].strip()
