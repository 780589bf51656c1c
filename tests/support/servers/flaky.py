"""Agents that work only after a few attempts."""

from __future__ import annotations

from typing import Literal

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tests.support.servers.front import Received, Recording
from tests.support.servers.wire import Broken

Refusal = Literal["429", "502", "503", "closed", "lost"]
"""Ways to fail a request: an HTTP status, a connection closed without a response, or
a lost response, after which the agent has done its work."""


class Flaky(Recording):
    """Fails the first calls and the first requests for its card.

    Args:
        refuse: How requests fail.
        calls: Number of failing calls.
        cards: Number of failing requests for the card.
        agent: The agent. Default: one that answers with a pong.
        retry_after: The header `Retry-After` of a 429 or 503: seconds or an HTTP date.
    """

    def __init__(
        self,
        refuse: Refusal,
        *,
        calls: int = 1,
        cards: int = 0,
        agent: ASGIApp | None = None,
        retry_after: str | None = "0",
    ) -> None:
        super().__init__(agent)
        self._refuse = refuse
        self._left = {"POST": calls, "GET": cards}
        self._headers = {} if retry_after is None else {"Retry-After": retry_after}

    def refusal(self, request: Received) -> ASGIApp | None:
        if not self._left[request.method]:
            return None
        self._left[request.method] -= 1
        match self._refuse:
            case "closed":
                return Broken()
            case "lost":
                return self._lose
            case status:
                return Response("busy", int(status), self._headers, "text/plain")

    async def _lose(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def discard(message: Message) -> None:
            pass

        await self._agent(scope, receive, discard)
        await Broken()(scope, receive, send)
