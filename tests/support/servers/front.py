"""Middleware in front of an agent that records and may refuse its requests."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import Any

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tests.support.servers.streams import chunks


@dataclass(frozen=True)
class Received:
    """A received HTTP request; `body` is its JSON, or None."""

    method: str
    path: str
    headers: Headers
    body: Any

    @property
    def message(self) -> dict[str, Any] | None:
        """The A2A message in it, over JSON-RPC or HTTP+JSON."""
        if not isinstance(self.body, dict):
            return None
        return self.body.get("params", self.body).get("message")


class Recording:
    """Records all requests of an agent unmodified."""

    def __init__(self, agent: ASGIApp | None = None) -> None:
        self.received: list[Received] = []
        self._agent = agent or chunks()

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The A2A messages in order, as received JSON."""
        return [each.message for each in self.received if each.message]

    def header_values(self, name: str) -> list[str]:
        """Return the values of a header, "" for requests without it."""
        return [each.headers.get(name, "") for each in self.received]

    @property
    def times_received(self) -> Counter[str]:
        """Number of requests by message id."""
        return Counter(message["messageId"] for message in self.messages)

    @property
    def methods(self) -> list[str]:
        """The called JSON-RPC methods in order."""
        return [each.body["method"] for each in self.received if each.method == "POST"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._agent(scope, receive, send)
            return
        scope["extensions"] = {"connection": send}
        body = await Request(scope, receive).body()
        request = Received(
            scope["method"], scope["path"], Headers(scope=scope), json.loads(body or "null")
        )
        self.received.append(request)
        chosen = self.refusal(request) or self._agent
        await chosen(scope, _replay(body, receive), send)

    def refusal(self, request: Received) -> ASGIApp | None:
        """Return an app that answers instead of the agent, None to pass the request on."""
        return None


def _replay(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that replays the body."""
    unread = [body]

    async def replay() -> Message:
        if unread:
            return {"type": "http.request", "body": unread.pop(), "more_body": False}
        return await receive()

    return replay
