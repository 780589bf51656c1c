"""A sound server with one fault, made by editing its responses."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

CARD = "/.well-known/agent-card.json"


@dataclass(frozen=True)
class Asked:
    """A request as seen by edits."""

    verb: str
    path: str
    headers: dict[str, str]
    body: Any

    @property
    def method(self) -> str:
        """The JSON-RPC method, "" for other requests."""
        return str(self.body.get("method", "")) if isinstance(self.body, dict) else ""


@dataclass(frozen=True)
class Given:
    """A response as seen and returned by edits."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=lambda: {"content-type": "application/json"})
    content: bytes = b""

    @property
    def json(self) -> Any:
        return json.loads(self.content)

    def of(self, value: Any) -> Given:
        """Return a copy with another body."""
        return replace(self, content=json.dumps(value).encode())

    def with_headers(self, **headers: str) -> Given:
        """Return a copy with changed headers; "" removes one."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        kept = {name: value for name, value in {**self.headers, **named}.items() if value}
        return replace(self, headers=kept)


Edit: TypeAlias = Callable[[Asked, Given], Given]


class Broken:
    """An app whose responses are edited.

    Args:
        app: The sound app.
        edit: Returns the response to send instead.
        edits_subscriptions: Whether subscriptions are collected and edited, not streamed through.
    """

    def __init__(self, app: Any, edit: Edit, *, edits_subscriptions: bool = False) -> None:
        self._app = app
        self._edit = edit
        self._edits_subscriptions = edits_subscriptions

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        body = await _read(receive)
        if self._passes(scope, body):
            await self._app(scope, _replayed(body), send)
            return
        given = await self._inner(scope, body)
        headers = {name.decode().lower(): value.decode() for name, value in scope["headers"]}
        edited = self._edit(Asked(scope["method"], scope["path"], headers, _json(body)), given)
        raw = [
            (name.encode(), value.encode())
            for name, value in edited.headers.items()
            if name != "content-length"
        ]
        await send({"type": "http.response.start", "status": edited.status, "headers": raw})
        await send({"type": "http.response.body", "body": edited.content})

    def _passes(self, scope: Any, body: bytes) -> bool:
        is_subscription = b'"SubscribeToTask"' in body or scope["path"].endswith(":subscribe")
        return is_subscription and not self._edits_subscriptions

    async def _inner(self, scope: Any, body: bytes) -> Given:
        """Return the complete response of the sound app."""
        start: dict[str, Any] = {}
        content = bytearray()

        async def send(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start":
                start.update(message)
            else:
                content.extend(message.get("body", b""))

        await self._app(scope, _replayed(body), send)
        headers = {name.decode(): value.decode() for name, value in start["headers"]}
        return Given(start["status"], headers, bytes(content))


def _replayed(body: bytes) -> Any:
    """Return a `receive` that replays a body."""
    messages = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def receive() -> dict[str, Any]:
        for message in messages:
            return message
        await asyncio.Event().wait()
        return {"type": "http.disconnect"}

    return receive


async def _read(receive: Any) -> bytes:
    body = bytearray()
    while True:
        message = await receive()
        body.extend(message.get("body", b""))
        if not message.get("more_body"):
            return bytes(body)


def _json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return None


def on_card(change: Callable[[dict[str, Any]], Any]) -> Edit:
    """Return an edit of the card; `change` modifies it or returns a new one."""

    def edit(asked: Asked, given: Given) -> Given:
        if asked.path != CARD or given.status != 200:
            return given
        card = given.json
        return given.of(change(card) or card)

    return edit


def on_card_answer(change: Callable[[Given], Given]) -> Edit:
    """Return an edit of the response with the card."""
    return lambda asked, given: change(given) if asked.path == CARD else given


def on_method(method: str, change: Callable[[Given], Given]) -> Edit:
    """Return an edit of the responses to a JSON-RPC method."""
    return lambda asked, given: change(given) if asked.method == method else given


def on_path(path: str, change: Callable[[Given], Given]) -> Edit:
    """Return an edit of the responses below a path."""
    return lambda asked, given: change(given) if asked.path.startswith(path) else given


def result(value: Any) -> Callable[[Given], Given]:
    """Return a change of a JSON-RPC response into a result."""
    return lambda _: Given().of({"jsonrpc": "2.0", "id": "check-1", "result": value})


def error(code: int, message: str = "It failed.") -> Callable[[Given], Given]:
    """Return a change of a JSON-RPC response into an error."""
    body = {"code": code, "message": message}
    return lambda _: Given().of({"jsonrpc": "2.0", "id": "check-1", "error": body})


def on_events(method: str, change: Callable[[list[Any]], list[Any]]) -> Edit:
    """Return an edit of the events of a JSON-RPC stream."""

    def edit(given: Given) -> Given:
        lines = [line[5:] for line in given.content.decode().split("\n") if line[:5] == "data:"]
        events = change([json.loads(line)["result"] for line in lines])
        sent = [{"jsonrpc": "2.0", "id": "check-1", "result": event} for event in events]
        content = "".join(f"data: {json.dumps(event)}\n\n" for event in sent)
        return replace(given, content=content.encode())

    def on_stream(given: Given) -> Given:
        return edit(given) if b'"result"' in given.content else given

    return on_method(method, on_stream)
