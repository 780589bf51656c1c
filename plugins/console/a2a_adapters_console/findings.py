"""Runs `check` for the console."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from pydantic_core import to_json
from starlette.responses import JSONResponse, Response

from a2a_adapters import RemoteAgentError

if TYPE_CHECKING:
    import ssl
    from collections.abc import Mapping

    from starlette.types import Receive, Scope, Send

_TYPED = "console-forward"
"""Header with the names of the headers typed by the user for the agent."""

_BUSY = JSONResponse(
    {"error": {"message": "This agent is being checked; try again in a few seconds."}}, 429
)


class Findings:
    """ASGI app that checks an agent without sending messages, one check at a time.

    Args:
        url: URL of the agent; "" for this server.
        path: Path of the agent on this server.
        headers: Headers sent in addition to those typed by the user.
        tls: The TLS settings; None for the default.
    """

    def __init__(
        self, url: str, path: str, headers: Mapping[str, str], tls: ssl.SSLContext | None
    ) -> None:
        self._url = url
        self._path = path
        self._headers = headers
        self._tls = tls
        self._lock = asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer with the findings, most severe first."""
        from a2a_adapters_check import check  # noqa: PLC0415 - imported on demand

        headers = {**self._headers, **typed_headers(scope)}
        if self._lock.locked():
            await _BUSY(scope, receive, send)
            return
        try:
            async with self._lock:
                url = self._url or _own(scope) + self._path
                report = await check(url, headers=headers, tls=self._tls)
            status, content = 200, to_json({"findings": report.findings})
        except RemoteAgentError as error:
            status, content = 502, to_json({"error": {"message": str(error)}})
        await Response(content, status, media_type="application/json")(scope, receive, send)


def _own(scope: Scope) -> str:
    """Return this server's own URL, ignoring headers of clients and proxies."""
    host, port = scope["server"]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def typed_headers(scope: Scope) -> dict[str, str]:
    """Return the headers typed by the user for the agent, with lower-case names."""
    found = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
    names = [name.strip().lower() for name in found.get(_TYPED, "").split(",")]
    return {name: found[name] for name in names if name in found}
