"""Agents that work only after a few tries."""

from __future__ import annotations

from typing import Literal

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tests.support.servers.front import Received, Recording
from tests.support.servers.wire import Broken

Refusal = Literal["429", "502", "503", "closed", "lost"]
"""How a request is refused: by an HTTP status, by closing the connection without an answer, or
by losing the answer: the agent does its work and then the connection is closed."""


class Flaky(Recording):
    """Refuses the first calls it gets, and the first requests for its card.

    Args:
        refuse: How.
        calls: How many calls are refused.
        cards: How many requests for the card are refused.
        agent: What is refused to; by default one that answers by a pong.
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
