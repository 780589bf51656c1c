"""What stands in front of an agent: it sees everything the agent receives, and may refuse it."""

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
    """One HTTP request as it came; `body` is its JSON, or None."""

    method: str
    path: str
    headers: Headers
    body: Any

    @property
    def message(self) -> dict[str, Any] | None:
        """The A2A message it carries, over JSON-RPC or HTTP+JSON."""
        if not isinstance(self.body, dict):
            return None
        return self.body.get("params", self.body).get("message")


class Recording:
    """Keeps all that an agent receives: each message has its ids, parts and metadata as sent."""

    def __init__(self, agent: ASGIApp | None = None) -> None:
        self.received: list[Received] = []
        self._agent = agent or chunks()

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The A2A messages, in order, as the JSON they were."""
        return [each.message for each in self.received if each.message]

    def header_values(self, name: str) -> list[str]:
        """Return the values of a header, "" for the requests without it."""
        return [each.headers.get(name, "") for each in self.received]

    @property
    def times_received(self) -> Counter[str]:
        """How often each message id came."""
        return Counter(message["messageId"] for message in self.messages)

    @property
    def methods(self) -> list[str]:
        """The JSON-RPC methods that were called, in order."""
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
        """Return what answers in place of the agent, if it shall not see the request."""
        return None


def _replay(body: bytes, receive: Receive) -> Receive:
    """Return what receives the body again, and then whatever comes next."""
    unread = [body]

    async def replay() -> Message:
        if unread:
            return {"type": "http.request", "body": unread.pop(), "more_body": False}
        return await receive()

    return replay
