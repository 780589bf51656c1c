"""The limit of a request's size, for every way of sending it."""

from __future__ import annotations

import asyncio

import httpx
import pytest

from a2a_adapters import Limits, ServerOptions, build_app
from a2a_adapters.security.body import Bodies, BodyLimit
from a2a_adapters.testing import running
from tests.support.requests import V1, rpc, say, serving

LIMITS = Limits(body_bytes=10_000)


def call(size):
    return rpc("SendMessage", say("x" * size))


async def length(text):
    return str(len(text))


@pytest.fixture
async def http():
    async with serving(length, options=ServerOptions(limits=LIMITS), headers=V1) as client:
        yield client


async def pieces(content, size=1000):
    """Yield the content in pieces, so that it is sent in chunks without a length."""
    for start in range(0, len(content), size):
        yield content[start : start + size]


async def test_bodies_within_the_limit_are_read_either_way(http):
    for size in (1, 9_000):
        content = httpx.Request("POST", "http://x", json=call(size)).content
        for body in (content, pieces(content)):
            answer = (await http.post("/", content=body)).json()
            [artifact] = answer["result"]["task"]["artifacts"]
            assert artifact["parts"] == [{"text": str(size)}]


@pytest.mark.parametrize(
    ("path", "old"),
    [
        ("/", False),
        ("/message:send", False),
        ("/message:stream", False),
        ("/v1/message:send", True),
    ],
)
async def test_too_large_bodies_are_refused_with_and_without_length(http, path, old):
    if old:
        del http.headers["A2A-Version"]
    content = httpx.Request("POST", "http://x", json=call(200_000)).content
    for body in (content, pieces(content)):
        response = await http.post(path, content=body)
        assert response.status_code == 413
        assert response.headers["connection"] == "close"
        error = response.json()["error"]
        assert error["code"] == (-32000 if path == "/" else 413)
        assert "larger than 10000 bytes" in error["message"]
    listed = await http.get("/tasks", headers=V1)
    assert listed.json()["tasks"] == []


async def test_a_body_that_never_ends_is_cut_off(http, monkeypatch):
    monkeypatch.setattr("a2a_adapters.security.body._DISCARDED_BYTES", 100_000)
    read = 0

    async def endless():
        nonlocal read
        while True:
            yield b"x" * 1000
            read += 1000
            await asyncio.sleep(0)

    async with asyncio.timeout(60):
        try:
            response = await http.post("/", content=endless())
        except httpx.TransportError:
            pass  # the connection may be closed before the answer is read
        else:
            assert response.status_code == 413
    assert read < 10_000_000
    assert (await http.post("/", json=call(1))).status_code == 200


async def test_a_client_that_leaves_midway_is_not_answered(http):
    async def broken():
        yield b"{"
        raise ConnectionError

    with pytest.raises(ConnectionError):
        await http.post("/", content=broken())
    assert (await http.post("/", json=call(1))).status_code == 200


async def test_a_client_that_asks_first_is_refused_before_it_sends():
    app = build_app(length, options=ServerOptions(limits=LIMITS))
    async with running(app) as url:
        address = httpx.URL(url)
        reader, writer = await asyncio.open_connection(address.host, address.port)
        head = ["POST / HTTP/1.1", "Host: localhost", "Content-Type: application/json"]
        head += ["Content-Length: 10001", "Expect: 100-continue", "", ""]
        writer.write("\r\n".join(head).encode())
        async with asyncio.timeout(60):
            answer = await reader.read()
        writer.close()
    assert answer.startswith(b"HTTP/1.1 413 ")


async def test_a_client_that_asks_first_cannot_leave_a_body_for_its_next_request():
    """Its connection is closed: otherwise a proxy that shares it gets the answers of others."""
    app = build_app(length)
    async with running(app) as url:
        address = httpx.URL(url)
        reader, writer = await asyncio.open_connection(address.host, address.port)
        head = ["POST / HTTP/1.1", "Host: localhost", "Origin: http://evil.example"]
        head += ["Content-Length: 100", "Expect: 100-continue", "", ""]
        writer.write("\r\n".join(head).encode())
        async with asyncio.timeout(60):
            answer = await reader.read()
        writer.close()
    assert answer.startswith(b"HTTP/1.1 403 ")
    assert b"connection: close" in answer.lower()


async def test_refused_bodies_are_discarded_within_limits():
    bodies = Bodies(Limits(bodies_bytes=100_000))
    limit = BodyLimit(build_app(length), bodies)
    gate = asyncio.Event()
    ready = asyncio.Event()
    reading, answered = [], []

    def note():
        if len(reading) == 32 and answered.count(503) == 68:
            ready.set()

    async def attack():
        chunks = iter([b"x" * 90_000, b"x" * 20_000])

        async def receive():
            if (chunk := next(chunks, None)) is None:
                reading.append(bodies.held_bytes)
                note()
                await gate.wait()
                return {"type": "http.disconnect"}
            return {"type": "http.request", "body": chunk, "more_body": True}

        async def send(message):
            answered.append(message.get("status"))
            note()

        await limit({"type": "http", "path": "/", "headers": []}, receive, send)

    callers = [asyncio.create_task(attack()) for _ in range(100)]
    async with asyncio.timeout(60):
        await ready.wait()
        gate.set()
        await asyncio.gather(*callers)
    assert set(reading) == {0}
    assert len(reading) == 32
    assert answered.count(503) == 100


async def test_a_body_that_is_refused_unread_does_not_hold_its_connection():
    body = b"x" * 3_000_000
    head = f"POST / HTTP/1.1\r\nHost: evil.example\r\nContent-Length: {len(body)}\r\n\r\n"
    async with running(build_app(length)) as url, asyncio.timeout(60):
        address = httpx.URL(url)
        reader, writer = await asyncio.open_connection(address.host, address.port)
        for _ in range(2):
            writer.write(head.encode())
            answer = await reader.readuntil(b"\r\n\r\n")
            assert answer.startswith(b"HTTP/1.1 421 ")
            await reader.readuntil(b"}}")
            writer.write(body)
            await writer.drain()
        writer.close()
