"""Simulated gateways, which put their own address into the card of the agent behind them."""

from __future__ import annotations

from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import httpx
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from a2a_adapters.testing import running
from tests.platforms.contract import CARD

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from starlette.requests import Request
    from starlette.types import ASGIApp

PREFIX = "/agents/greeter"
"""The path of the agent at the gateway."""

_HOP = {"connection", "content-length", "date", "keep-alive", "server", "transfer-encoding"}


@dataclass
class Gateway:
    """A gateway of one agent.

    Attributes:
        strips: Whether it removes its prefix from the path of a request.
        is_buffering: Whether it passes a stream on when it is complete.
        url: The public address of the agent, once it runs.
    """

    strips: bool
    is_buffering: bool = False
    url: str = ""
    upstream: str = field(default="", init=False)
    http: httpx.AsyncClient = field(default_factory=lambda: httpx.AsyncClient(timeout=60))

    def rewrite(self, card: dict[str, Any]) -> None:
        """Put the gateway's address into a card."""
        raise NotImplementedError

    def headers(self) -> dict[str, str]:
        """Return the headers that it sends besides those of the request."""
        return {}

    @asynccontextmanager
    async def before(self, make: Callable[[str], ASGIApp]) -> AsyncGenerator[str]:
        """Run it before the app that `make` returns for its address; yield the address."""
        app = Starlette(routes=[Route("/{path:path}", self._pass_on, methods=["GET", "POST"])])
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self.http)
            self.url = await stack.enter_async_context(running(app)) + PREFIX
            self.upstream = await stack.enter_async_context(running(make(self.url)))
            yield self.url

    async def _pass_on(self, request: Request) -> Response:
        path = request.url.path.removeprefix(PREFIX) if self.strips else request.url.path
        passed = {name: said for name, said in request.headers.items() if name not in _HOP}
        sent = self.http.build_request(
            request.method,
            self.upstream + path,
            headers={**passed, **self.headers()},
            content=await request.body(),
        )
        answer = await self.http.send(sent, stream=True)
        kept = {name: said for name, said in answer.headers.items() if name not in _HOP}
        if path.endswith(CARD):
            await answer.aread()
            card = answer.json()
            self.rewrite(card)
            return JSONResponse(card, answer.status_code)
        if self.is_buffering:
            return Response(await answer.aread(), answer.status_code, kept)
        closing = BackgroundTask(answer.aclose)
        return StreamingResponse(answer.aiter_raw(), answer.status_code, kept, background=closing)


class Agentgateway(Gateway):
    """agentgateway: every address of a card of 1.0, or else the one of 0.3; it keeps `Host`.

    Where it strips a prefix, it puts that before the path of each address.
    """

    def rewrite(self, card: dict[str, Any]) -> None:
        """Rewrite all interfaces, or `url`."""
        if "supportedInterfaces" not in card:
            card["url"] = self.url
            return
        for each in card["supportedInterfaces"]:
            path = urlsplit(each["url"]).path
            each["url"] = self.url + (path if self.strips else path.removeprefix(PREFIX))


class Kong(Gateway):
    """Kong's AI A2A Proxy: `url` only; it names the public address in `X-Forwarded-*`."""

    def rewrite(self, card: dict[str, Any]) -> None:
        """Rewrite `url`."""
        card["url"] = self.url

    def headers(self) -> dict[str, str]:
        """Name the public address; the host is that of the upstream."""
        public = urlsplit(self.url)
        return {
            "host": urlsplit(self.upstream).netloc,
            "x-forwarded-host": str(public.hostname),
            "x-forwarded-port": str(public.port),
            "x-forwarded-proto": public.scheme,
            "x-forwarded-path": PREFIX,
            **({"x-forwarded-prefix": PREFIX} if self.strips else {}),
        }
