"""Callers that flood, never finish, or never read."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable

from tests.attack.target import Target
from tests.support.requests import rpc, say

MIB = 1024 * 1024
_SECONDS = 60

Caller = Callable[[Target, int], Awaitable[object]]


async def _sent(target: Target, data: bytes) -> None:
    """Send without ever reading, until cancelled or cut off."""
    reader, writer = await asyncio.open_connection(*target.address, limit=1024)
    try:
        writer.write(data)
        await writer.drain()
        reader._transport.pause_reading()
        await asyncio.sleep(_SECONDS)
    finally:
        writer.close()


def _post(body: object, length: int | None = None, path: str = "/") -> bytes:
    content = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nA2A-Version: 1.0\r\n"
    head += f"Content-Length: {length or len(content)}\r\n\r\n"
    return head.encode() + content


def _sender(data: bytes) -> Caller:
    """Return a caller that sends shared data, to spare the processor."""

    async def send(target: Target, _: int) -> None:
        await _sent(target, data)

    return send


async def _hosts(target: Target, number: int) -> None:
    await _sent(target, b"GET / HTTP/1.1\r\nHost: " + f"{number}".encode() * 9000 + b"\r\n\r\n")


def _chat(text: str) -> object:
    messages = [{"role": "user", "content": text}]
    return {"model": "agent", "messages": messages, "stream": True}


def _run(text: str) -> object:
    return {
        "threadId": "t",
        "runId": "r",
        "messages": [{"id": "m", "role": "user", "content": text}],
    }


_LARGE = "x" * 2 * MIB

FLOODS: dict[str, Caller] = {
    "headers without end": _sender(b"POST / HTTP/1.1\r\n" + b"a: bcd\r\n" * 100_000),
    "wrong hosts": _hosts,
    "too many values": _sender(_post(rpc("SendMessage", say("x", metadata={"a": [[]] * 50_000})))),
    "as many values as allowed": _sender(
        _post(rpc("SendMessage", say("x", metadata={"a": [[]] * 9000})))
    ),
    "bodies that never end": _sender(_post(rpc("SendMessage", say(2 * _LARGE)), 8 * MIB)),
    "large streams, unread": _sender(_post(rpc("SendStreamingMessage", say(_LARGE)))),
    "large answers, unread": _sender(_post(rpc("SendMessage", say(_LARGE)))),
    "large chats, unread": _sender(_post(_chat(_LARGE), path="/v1/chat/completions")),
    "large runs, unread": _sender(_post(_run(_LARGE), path="/ag-ui")),
    "large questions, never answered": _sender(_post(rpc("SendMessage", say("?" + _LARGE)))),
    "lists, unread": _sender(_post(rpc("ListTasks", {"pageSize": 100, "includeArtifacts": True}))),
}
