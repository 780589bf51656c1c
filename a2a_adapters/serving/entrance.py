"""Middleware in front of the agents: header limits, browser guard, authentication, body limits."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING

from starlette.routing import BaseRoute, Mount, Route
from starlette.websockets import WebSocketClose

from a2a_adapters.observability.requests import is_observed, observed
from a2a_adapters.protocol.headers import HEADERS, head_bytes, read_headers
from a2a_adapters.security.body import Bodies, BodyLimit
from a2a_adapters.security.gate import AuthenticationGate, CallerDetails, KnownCaller
from a2a_adapters.security.headers import malformed
from a2a_adapters.security.rates import RateLimit, RequestRates
from a2a_adapters.security.refusals import Refusal, refuse

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from a2a_adapters.security.headers import BrowserGuard
    from a2a_adapters.serving.options import ServerOptions

logger = logging.getLogger(__name__)


class Entrance:
    """ASGI middleware that checks headers, observes requests and refuses foreign web pages.

    Args:
        app: The wrapped application.
        head_limit: Maximum size of the request target and headers in bytes; each header counts
            `FIELD_BYTES` extra.
        browsers: Decides which web pages to refuse; None with authentication.
        calls: Endpoints of frequent POST requests by path, which skip the search for a route.
        trusts: Whether requests continue the traces of their headers; see `observed`.
    """

    def __init__(
        self,
        app: ASGIApp,
        head_limit: int,
        browsers: BrowserGuard | None,
        calls: Mapping[str, ASGIApp],
        trusts: bool | None,
    ) -> None:
        self._app = app
        self._trusts = trusts
        self._calls = calls
        self._head_limit = head_limit
        self._browsers = browsers
        message = f"the headers of a request to this agent may have at most {head_limit} bytes"
        self._too_large = Refusal(431, "INVALID_ARGUMENT", message, {"Connection": "close"})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request (ASGI)."""
        if scope["type"] != "http":
            if scope["type"] == "websocket":
                scope[HEADERS] = read_headers(scope)
            await self._app(scope, receive, send)
            return
        if (size := head_bytes(scope)) > self._head_limit:
            logger.warning("refused a request: its headers have %d bytes (header_bytes)", size)
            await refuse(self._too_large, scope, receive, send)
            return
        if "app_root_path" in scope:  # mounted in another app: addresses are below the mount
            scope["app_root_path"] = scope.get("root_path", "")
        headers = scope[HEADERS] = read_headers(scope)
        refusal = malformed(headers) or (
            self._browsers.refusal(scope, headers) if self._browsers else None
        )
        app = self._app
        if refusal is not None:
            app = partial(refuse, refusal)
        elif scope["method"] == "POST":
            app = self._calls.get(scope["path"], app)
        if not is_observed(headers):
            await app(scope, receive, send)
            return
        verb, path = scope["method"], scope["path"]
        with observed(verb, path, headers, trusts=self._trusts) as record:

            async def noting_status(message: Message) -> None:
                if message["type"] == "http.response.start":
                    record.status = message["status"]
                await send(message)

            await app(scope, receive, noting_status)


class RootPath:
    """ASGI middleware that takes requests below a path, whether or not the proxy strips it.

    Args:
        app: The wrapped application.
        path: The path at which the proxy offers the application.
    """

    def __init__(self, app: ASGIApp, path: str) -> None:
        self._app = app
        self._path = path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request (ASGI)."""
        if scope["type"] != "lifespan":
            outer, path = scope.get("root_path", ""), scope["path"]
            inner = path.removeprefix(outer)
            if inner == self._path:
                inner += "/"
            elif not inner.startswith(f"{self._path}/"):
                inner = self._path + inner
            scope = {**scope, "path": outer + inner, "root_path": outer + self._path}
        await self._app(scope, receive, send)


class Protection:
    """Applies a server's authentication, rate limits and body limits.

    Attributes:
        rates: Counts the requests of each caller over all bindings and dialects.
    """

    def __init__(self, options: ServerOptions) -> None:
        self._authentication = options.authentication
        self._details = CallerDetails(options.caller_headers, options.operators)
        self._bodies = Bodies(options.limits)
        self.rates = RequestRates(
            options.limits.requests_per_minute, behind_proxy=options.trust_forwarded
        )

    def of(self, app: ASGIApp) -> ASGIApp:
        """Wrap `app` in the protection."""
        app = RateLimit(BodyLimit(app, self._bodies), self.rates)
        if self._details:
            app = KnownCaller(app, self._details)
        if self._authentication is None:
            return app
        return AuthenticationGate(app, self._authentication)


def mount(path: str, routes: Sequence[BaseRoute]) -> list[BaseRoute]:
    """Mount an agent's routes at a path, and accept calls without the trailing slash."""
    mounted = Mount(path, routes=routes)
    return [Route(path, _Slashed(mounted), methods=["POST"]), mounted]


class _Slashed:
    """Adds a trailing slash without a redirect, which few clients follow for POST."""

    def __init__(self, mount: Mount) -> None:
        self._mount = mount

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope = {**scope, "path": f"{scope['path']}/"}
        _, found = self._mount.matches(scope)
        await self._mount.handle({**scope, **found}, receive, send)


async def not_found(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a request without a route (ASGI)."""
    if scope["type"] == "websocket":
        await WebSocketClose()(scope, receive, send)
        return
    await refuse(Refusal(404, "NOT_FOUND", "there is nothing here"), scope, receive, send)
