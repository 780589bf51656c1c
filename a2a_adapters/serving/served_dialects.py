"""Adds the routes of dialects to a server."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING

from starlette.requests import ClientDisconnect
from starlette.routing import BaseRoute, Route

from a2a_adapters.contract.plugins import installed_plugins
from a2a_adapters.security.refusals import OWN_FORM

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from starlette.types import ASGIApp, Receive, Scope, Send

    from a2a_adapters.contract.dialect_routes import DialectServer
    from a2a_adapters.serving.entrance import Protection

CONSOLE = "console"
"""The plugin, and the path, of the web page for people."""

_NOT_IN_IDS = re.compile(r"[^a-z0-9._~-]+")


class ServedDialects:
    """The dialects of a server.

    Raises:
        ConfigurationError: No plugin supports one of them.
    """

    def __init__(
        self, dialects: Sequence[object], server: DialectServer, protection: Protection
    ) -> None:
        self._found = [installed_plugins().routes(dialect, server) for dialect in dialects]
        self._protection = protection

    def routes(self) -> list[BaseRoute]:
        """Return the routes of all dialects, with protected calls."""
        routes: list[BaseRoute] = []
        for found in self._found:
            routes += found.cards
            for call in found.calls:
                app = _Call(self._protection.of(call.app), found.refusal)
                routes.append(Route(call.path, app, methods=call.methods))
        return routes

    @property
    def endpoints(self) -> dict[str, str]:
        """The paths that users give to the dialects' clients, by their names."""
        return {name: path for found in self._found for name, path in found.endpoints.items()}

    async def aclose(self) -> None:
        """Release the routes' resources."""
        closing, self._found = self._found, []
        for found in closing:
            if found.aclose is not None:
                await found.aclose()


class _Call:
    """ASGI app that refuses calls in the dialect's format, and ignores disconnected clients."""

    def __init__(
        self, app: ASGIApp, refusal: Callable[[int, str], tuple[int, object]] | None
    ) -> None:
        self._app = app
        self._refusal = refusal

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope[OWN_FORM] = self._refusal
        with suppress(ClientDisconnect):
            await self._app(scope, receive, send)


def agent_id(name: str) -> str:
    """Derive an agent's id from its name."""
    return _NOT_IN_IDS.sub("-", name.lower()).strip("-") or "agent"
