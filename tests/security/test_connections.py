"""Limits of open connections, and of the time to wait for their data."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from unittest.mock import Mock

import httpx
import pytest

from a2a_adapters import Limits, ServerOptions, build_app
from a2a_adapters.serving.http import Connections
from a2a_adapters.testing import running
from tests.attack.served import agent

HEAD = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
BEGINNINGS = {
    "nothing": b"",
    "a line": b"POST / HTTP/1.1\r\n",
    "a head": HEAD + b"Content-Length: 100\r\n\r\n",
    "a chunked head": HEAD + b"Transfer-Encoding: chunked\r\n\r\n",
    "a piece": HEAD + b"Content-Length: 100\r\n\r\n{",
}


@asynccontextmanager
async def serving(**numbers):
    """Serve an agent and yield its address."""
    limits = Limits(**numbers)
    async with running(build_app(agent, options=ServerOptions(limits=limits)), limits) as url:
        yield httpx.URL(url)


async def opened(url, content=b""):
    reader, writer = await asyncio.open_connection(url.host, url.port)
    writer.write(content)
    return reader, writer


async def close(writer):
    writer.close()
    with suppress(ConnectionError):
        await writer.wait_closed()


async def first_line(reader):
    with suppress(ConnectionError):
        return await reader.readline()
    return b""


async def rest(reader):
    """Return the data received until the connection is closed."""
    with suppress(ConnectionError):
        return await reader.read()
    return b""


@pytest.mark.parametrize("beginning", BEGINNINGS.values(), ids=BEGINNINGS)
async def test_a_connection_that_sends_no_whole_request_is_closed(beginning):
    async with serving(body_seconds=0.2) as url, asyncio.timeout(60):
        reader, writer = await opened(url, beginning)
        answer = await rest(reader)
        await close(writer)
    # On a busy machine, the time may be up before the server has read the head.
    assert not answer or (answer.startswith(b"HTTP/1.1 408") and b"\r\n\r\n" in beginning)


async def test_an_occasional_byte_does_not_keep_a_connection_open():
    async with serving(body_seconds=0.5) as url, asyncio.timeout(60):
        reader, writer = await opened(url, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b"200" in await reader.readline()
        ending = asyncio.create_task(rest(reader))
        with suppress(ConnectionError):
            while not ending.done():
                writer.write(b"\r\n")
                await writer.drain()
                await asyncio.sleep(0.01)
        await ending
        await close(writer)


async def test_a_full_server_closes_idle_connections_for_new_ones(caplog):
    async with serving(connections=20) as url, asyncio.timeout(60):
        silent = [await opened(url, BEGINNINGS["a head"]) for _ in range(60)]
        async with httpx.AsyncClient(base_url=url, timeout=60) as http:
            assert (await http.get("/healthz")).status_code == 200
        assert caplog.text.count("20 connections are open, the maximum") == 1
        for _, writer in silent:
            await close(writer)


async def test_busy_connections_are_not_closed():
    async with serving(connections=3) as url, asyncio.timeout(60):
        body = b'{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"?"}]}}'
        head = b"POST /message:send HTTP/1.1\r\nHost: localhost\r\nA2A-Version: 1.0\r\n"
        request = head + b"Content-Length: %d\r\n\r\n" % len(body) + body
        async with httpx.AsyncClient(base_url=url, timeout=60) as http:
            headers = {"A2A-Version": "1.0"}
            asked = await http.post("/message:send", content=body, headers=headers)
        task = asked.json()["task"]["id"].encode()
        follow = b"GET /tasks/%b:subscribe HTTP/1.1\r\nHost: localhost\r\nA2A-Version: 1.0\r\n\r\n"
        readers = [await opened(url, follow % task) for _ in range(3)]
        for reader, _ in readers:
            assert b"200" in await reader.readline()
        refused, writer = await opened(url, request)
        assert (await rest(refused)).startswith(b"HTTP/1.1 503")
        await close(writer)
        silent = [await opened(url, BEGINNINGS["a head"]) for _ in range(20)]
        async with httpx.AsyncClient(base_url=url, timeout=60) as http:
            for path in ("/livez", "/healthz"):
                assert (await http.get(path)).status_code == 200
            # On such a connection, other requests than probes are refused.
            assert (await http.get("/tasks", headers=headers)).status_code == 503
        for _, writer in silent:
            await close(writer)
        for reader, _ in readers:
            assert not reader.at_eof()
        await close(readers[0][1])
        while True:  # its slot is free as soon as the server notices
            reader, writer = await opened(url, request)
            line = await first_line(reader)
            await close(writer)
            if line.startswith(b"HTTP/1.1 200"):
                break
        for _, writer in readers:
            await close(writer)


class Known:
    """A connection from an address that has sent a part of a request."""

    waited, is_whole, is_idle, is_spare = 0, False, True, False

    def __init__(self, host):
        self.host, self.transport = host, Mock()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("93.184.216.34", "::ffff:93.184.216.34"),
        ("2606:2800:220:1::1", "2606:2800:220:1:8000::2"),
    ],
)
async def test_one_address_has_its_share_of_the_connections(one, other, caplog):
    limits = Limits(connections=10, connections_per_address=2)
    connections = Connections(limits, shares=True)
    known = [Known(one), Known(other), Known("203.0.113.9"), Known(one)]
    assert all(map(connections.admit, known))
    assert [each.transport.abort.called for each in known] == [True, False, False, False]
    assert "2 connections of " in caplog.text
    known[1].is_idle = known[3].is_idle = False
    late = Known(one)
    assert connections.admit(late)
    assert late.is_spare
    assert connections.may_ask(late, b"/livez")
    assert not connections.may_ask(late, b"/")
    connections.leave(known[1])
    assert connections.may_ask(late, b"/")
    assert not late.is_spare


@pytest.mark.parametrize(("host", "shares"), [("127.0.0.1", True), ("93.184.216.34", False)])
async def test_a_proxy_has_all_connections(host, shares):
    connections = Connections(Limits(connections=10, connections_per_address=2), shares=shares)
    known = [Known(host) for _ in range(10)]
    assert all(map(connections.admit, known))
    assert not any(each.transport.abort.called for each in known)
