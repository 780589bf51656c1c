"""A round-robin proxy without sticky sessions."""

from __future__ import annotations

from itertools import cycle

import httpx
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import StreamingResponse

ITS_OWN = {b"connection", b"transfer-encoding", b"keep-alive"}
"""Hop-by-hop headers."""


class RoundRobin:
    """ASGI proxy of an agent on several servers.

    Args:
        urls: The servers.
        agent: Name of the agent; the proxy has the same path as in its card.
    """

    def __init__(self, urls, agent):
        self._urls = cycle(urls)
        self._agent = f"/agents/{agent}"

    async def __call__(self, scope, receive, send):
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        else:
            response = await self._forwarded(Request(scope, receive))
            await response(scope, receive, send)

    async def _live(self, receive, send):
        await receive()
        async with httpx.AsyncClient(timeout=60) as self._http:
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})

    async def _forwarded(self, request):
        path = request.url.path
        if not path.startswith(self._agent):
            path = self._agent + path
        sent = self._http.build_request(
            request.method,
            next(self._urls) + path,
            params=request.query_params,
            headers=request.headers.raw,
            content=await request.body(),
        )
        answer = await self._http.send(sent, stream=True)
        response = StreamingResponse(
            answer.aiter_raw(), answer.status_code, background=BackgroundTask(answer.aclose)
        )
        response.raw_headers = [
            (name.lower(), value)
            for name, value in answer.headers.raw
            if name.lower() not in ITS_OWN
        ]
        return response
