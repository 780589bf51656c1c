"""A lean HTTP/1.1 client over raw sockets, so that the server dominates the measurement.

All traffic goes to 127.0.0.1, over keep-alive connections.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import re
import socket
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

COMPLETED = re.compile(rb'"TASK_STATE_COMPLETED"')
ACCEPTED = re.compile(rb'"TASK_STATE_(SUBMITTED|WORKING|COMPLETED)"')
TIMEOUT = 120
TOKEN = "9f2c4c1e5b7a4d0c8e6f3a2b1c0d9e8f"
"""Sent to every server, although only one requires it."""
_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
_EVENT = b"data: {"
_FIRST_WORD = b'"word0 "'
_END_OF_CHUNKS = b"\r\n0\r\n\r\n"
_HEAD = (
    "POST {} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    "A2A-Version: 1.0\r\nAuthorization: Bearer " + TOKEN + "\r\nContent-Length: {}\r\n\r\n"
)
_numbers = itertools.count(1)

P = TypeVar("P", bound="_Connection")


async def throughput(
    port: int, seconds: float, connections: int, expect: re.Pattern[bytes]
) -> float:
    """Return the number of `SendMessage` calls answered with `expect` per second."""
    count, took = await answered(port, seconds, connections, expect)
    return count / took


async def answered(
    port: int, seconds: float, connections: int, expect: re.Pattern[bytes], hook: str = ""
) -> tuple[int, float]:
    """Return the number of `SendMessage` calls answered with `expect`, and the duration.

    The tasks' changes are pushed to `hook`, if given.
    """

    def until() -> Iterator[bytes]:
        deadline = time.perf_counter() + seconds
        while time.perf_counter() < deadline:
            yield request("SendMessage", "hello", hook=hook)

    started = time.perf_counter()
    done = await _run(port, connections, until(), lambda: Sender(expect))
    return sum(c.count for c in done), time.perf_counter() - started


async def send(
    port: int,
    count: int,
    connections: int,
    expect: re.Pattern[bytes],
    text: str = "hello",
    path: str = "/",
) -> float:
    """Send `count` messages and return the duration.

    Uses JSON-RPC at the root, and HTTP+JSON at any other path.
    """
    requests = (request("SendMessage", text, path) for _ in range(count))
    started = time.perf_counter()
    await _run(port, connections, requests, lambda: Sender(expect))
    return time.perf_counter() - started


async def stream_rate(port: int, streams: int, chunks: int) -> float:
    """Return the number of events received per second on `streams` concurrent streams."""
    requests = [request("SendStreamingMessage", str(chunks)) for _ in range(streams)]
    done, took = await read_streams(port, streams, requests)
    events = sum(c.events for c in done)
    if events < streams * chunks:
        raise RuntimeError(f"{events} events for {streams} x {chunks} chunks")
    return events / took


async def first_token(port: int, runs: int) -> list[float]:
    """Return the time to the first word of each of `runs` sequential streams."""
    requests = [request("SendStreamingMessage", "3") for _ in range(runs)]
    (connection,), _ = await read_streams(port, 1, requests)
    return connection.first


async def read_streams(
    port: int, streams: int, requests: Iterable[bytes], ended: re.Pattern[bytes] = COMPLETED
) -> tuple[list[Reader], float]:
    """Read the streams that answer `requests` with limited concurrency; return the duration."""
    started = time.perf_counter()
    done = await _run(port, streams, requests, lambda: Reader(ended))
    return done, time.perf_counter() - started


async def _run(
    port: int, connections: int, requests: Iterable[bytes], make: Callable[[], P]
) -> list[P]:
    """Let `connections` connections work through `requests`."""
    loop = asyncio.get_running_loop()
    shared = iter(requests)
    protocols = []
    async with asyncio.timeout(TIMEOUT):
        for _ in range(connections):
            _, protocol = await loop.create_connection(make, "127.0.0.1", port)
            protocols.append(protocol)
        for protocol in protocols:
            protocol.start(shared)
        await asyncio.gather(*(protocol.done for protocol in protocols))
    return protocols


def request(method: str, text: str, path: str = "/", hook: str = "") -> bytes:
    number = next(_numbers)
    message_id = f"{number:032x}"  # as long as those of real clients, which servers store
    message = {"messageId": message_id, "role": "ROLE_USER", "parts": [{"text": text}]}
    params: dict[str, object] = {"message": message}
    if hook:
        params["configuration"] = {"taskPushNotificationConfig": {"url": hook, "token": message_id}}
    call = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    body = json.dumps(call if path == "/" else params)
    return f"{_HEAD.format(path, len(body))}{body}".encode()


class _Connection(asyncio.Protocol):
    """Sends the next request when the last answer is complete."""

    def __init__(self) -> None:
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._buffer = b""

    def connection_made(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def start(self, requests: Iterator[bytes]) -> None:
        self._requests = requests
        self._next()

    def _next(self) -> None:
        request = next(self._requests, None)
        if request is None:
            self.done.set_result(None)
            self._transport.close()
        else:
            self._sent = time.perf_counter()
            self._transport.write(request)

    def _fail(self, answer: bytes) -> None:
        if not self.done.done():
            self.done.set_exception(RuntimeError(f"unexpected answer: {answer[:2000]!r}"))
        self._transport.close()

    def connection_lost(self, _error: Exception | None) -> None:
        if not self.done.done():
            self._fail(self._buffer or b"connection lost")


class Sender(_Connection):
    """Reads answers with a Content-Length."""

    def __init__(self, expect: re.Pattern[bytes]) -> None:
        super().__init__()
        self.count = 0
        self._expect = expect

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        body = body_of(self._buffer)
        if body is None:
            return
        if not self._expect.search(body):
            self._fail(body)
            return
        self.count += 1
        self._buffer = b""
        self._next()


def body_of(received: bytes) -> bytes | None:
    """Return the body of the first received message, None until it is complete."""
    head, _, rest = received.partition(b"\r\n\r\n")
    length = _LENGTH.search(head)
    return rest[: int(length[1])] if length and len(rest) >= int(length[1]) else None


class Reader(_Connection):
    """Reads chunked event streams; records the number of events and the time of the first word."""

    def __init__(self, ended: re.Pattern[bytes]) -> None:
        super().__init__()
        self._ended = ended
        self.events = 0
        self.first: list[float] = []
        self._waiting = True

    def data_received(self, data: bytes) -> None:
        seen = self._buffer + data
        if self._waiting and _FIRST_WORD in seen:
            self.first.append(time.perf_counter() - self._sent)
            self._waiting = False
        self.events += seen.count(_EVENT)
        rest = seen.rpartition(_EVENT)[2]
        if not rest.endswith(_END_OF_CHUNKS):
            self._buffer = rest  # part of an event
            return
        if self._waiting or not self._ended.search(rest):
            self._fail(seen)
            return
        self._buffer, self._waiting = b"", True
        self._next()
