"""What every request passes first, whatever it is for."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING

from a2a_adapters.net.headers import HEADERS, head_bytes, read_headers
from a2a_adapters.observability.requests import Observer
from a2a_adapters.security.refusals import Refusal, refuse

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from a2a_adapters.security.browsers import BrowserGuard

logger = logging.getLogger(__name__)


class Entrance:
    """ASGI middleware: bounds the headers before anybody reads them, observes, keeps pages out.

    Args:
        app: What answers.
        head_limit: How many bytes the address and the headers of a request may have; each header
            counts `FIELD_BYTES` more than it is.
        browsers: Tells which pages are kept out; None if everybody has to authenticate.
        calls: What answers a POST to one of these paths, without looking through the routes.
    """

    def __init__(
        self,
        app: ASGIApp,
        head_limit: int,
        browsers: BrowserGuard | None,
        calls: Mapping[str, ASGIApp],
    ) -> None:
        self._app = app
        self._calls = calls
        self._head_limit = head_limit
        self._browsers = browsers
        self._observer = Observer()
        message = f"the headers of a request to this agent have {head_limit} bytes at most"
        self._too_large = Refusal(431, "INVALID_ARGUMENT", message, {"Connection": "close"})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request (ASGI)."""
        if scope["type"] != "http":
            if scope["type"] == "websocket":
                scope[HEADERS] = read_headers(scope)
            await self._app(scope, receive, send)
            return
        if (size := head_bytes(scope)) > self._head_limit:
            logger.warning("refused a request: its headers have %d bytes", size)
            await refuse(self._too_large, scope, receive, send)
            return
        if "app_root_path" in scope:  # mounted: what is in here has its addresses below the mount
            scope["app_root_path"] = scope.get("root_path", "")
        headers = scope[HEADERS] = read_headers(scope)
        refusal = self._browsers.refusal(scope, headers) if self._browsers else None
        app = self._app
        if refusal is not None:
            app = partial(refuse, refusal)
        elif scope["method"] == "POST":
            app = self._calls.get(scope["path"], app)
        if self._observer.is_needed(headers):
            await self._observe(app, headers, scope, receive, send)
        else:
            await app(scope, receive, send)

    async def _observe(
        self,
        app: ASGIApp,
        headers: Mapping[str, str],
        scope: Scope,
        receive: Receive,
        send: Send,
    ) -> None:
        with self._observer.request(scope["method"], scope["path"], headers) as record:

            async def noting_status(message: Message) -> None:
                if message["type"] == "http.response.start":
                    record.status = message["status"]
                await send(message)

            await app(scope, receive, noting_status)
