"""Connections over TCP and TLS, on the common event loops."""

from __future__ import annotations

import asyncio
import os
import socket
import struct
import subprocess
import sys
import threading
from contextlib import ExitStack, asynccontextmanager, contextmanager

import httpx
import pytest

from a2a_adapters import OutboundPolicy
from a2a_adapters.net.transport import PooledTransport
from tests.support.processes import PATIENCE
from tests.support.tls import tls_contexts

HOST = "agent.example"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
MUCH = bytes(range(256)) * 80_000


@pytest.fixture(scope="module")
def certificates():
    """Return the TLS contexts of a server named `HOST`, and of clients that trust it."""
    return tls_contexts(HOST)


@asynccontextmanager
async def listening(handle, port=0, **options):
    """Yield the port of a server with a handler for connections; wait for their ends."""
    handled = []

    async def accept(reader, writer):
        handled.append(asyncio.current_task())
        try:
            await handle(reader, writer)
        finally:
            writer.close()

    async with await asyncio.start_server(accept, "127.0.0.1", port, **options) as server:
        yield server.sockets[0].getsockname()[1]
        await asyncio.gather(*handled)


def client(ours=None, limits=httpx.Limits(), **timeouts):  # noqa: B008 - it is never changed
    async def local(host, port):
        return ["127.0.0.1"]

    transport = PooledTransport(ours, limits, local)
    return httpx.AsyncClient(transport=transport, timeout=httpx.Timeout(60, **timeouts))


async def answer(reader, writer):
    """Answer every request of a connection until its end."""
    while await requested(reader):
        writer.write(OK)


async def count(reader, writer):
    """Answer with the length of a request's content, or with `MUCH` if it has none."""
    while head := await requested(reader):
        lengths = [line for line in head.lower().splitlines() if line.startswith(b"content-length")]
        if lengths:
            left = length = int(lengths[0].split(b":")[1])
            while left:
                left -= len(await reader.read(left))
            content = b"%d" % length
        else:
            content = MUCH
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(content) + content)
        await writer.drain()


async def requested(reader):
    try:
        return await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return b""


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_connection_is_used_again(certificates, scheme):
    theirs, ours = certificates
    connections = []

    async def counted(reader, writer):
        connections.append(writer.get_extra_info("peername"))
        await answer(reader, writer)

    options = {"ssl": theirs} if scheme == "https" else {}
    async with listening(counted, **options) as port, client(ours) as http:
        for _ in range(3):
            response = await http.get(f"{scheme}://{HOST}:{port}/")
            assert response.text == "ok"
        stream = response.extensions["network_stream"]
        assert stream.get_extra_info("server_addr") == ("127.0.0.1", port)
        assert [stream.get_extra_info("client_addr")] == connections
        assert bool(stream.get_extra_info("ssl_object")) == (scheme == "https")


@asynccontextmanager
async def counting():
    """Yield the URL of a server, and an event per connection, which is set at its end.

    It answers requests for /long with a first part, and the rest never comes.
    """
    ends = []

    async def counted(reader, writer):
        ends.append(ended := asyncio.Event())
        while head := await requested(reader):
            is_long = head.startswith(b"GET /long")
            writer.write(OK.replace(b"Length: 2", b"Length: 3") if is_long else OK)
        ended.set()

    async with listening(counted) as port:
        yield f"http://{HOST}:{port}", ends


async def test_a_connection_is_used_again_however_many_are_busy():
    limits = httpx.Limits(max_keepalive_connections=1)
    async with counting() as (url, ends), client(limits=limits) as http:
        async with http.stream("GET", f"{url}/long"):
            for _ in range(3):
                await http.get(url)
            assert len(ends) == 2
        await ends[0].wait()  # it was not read to the end


@pytest.mark.parametrize("limits", [{"max_keepalive_connections": 1}, {"keepalive_expiry": 0}])
async def test_a_connection_that_is_idle_for_too_long_is_closed(limits):
    http = client(limits=httpx.Limits(**limits))
    async with counting() as (one, ends), counting() as (other, _), http:
        await http.get(one)
        await http.get(other)
        await ends[0].wait()
        await http.get(one)
        assert len(ends) == 2


async def test_requests_wait_until_fewer_are_under_way():
    limits = httpx.Limits(max_connections=1)
    async with counting() as (url, ends), client(limits=limits, pool=0.01) as http:
        async with http.stream("GET", f"{url}/long"):
            with pytest.raises(httpx.PoolTimeout):
                await http.get(url)
        assert (await http.get(url)).text == "ok"
        assert len(ends) == 2


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_much_comes_through_whole(certificates, scheme):
    theirs, ours = certificates
    options = {"ssl": theirs} if scheme == "https" else {}
    async with listening(count, **options) as port, client(ours) as http:
        url = f"{scheme}://{HOST}:{port}/"
        assert (await http.post(url, content=MUCH)).text == str(len(MUCH))
        assert (await http.get(url)).content == MUCH


async def test_a_slow_reader_applies_backpressure():
    is_held_up = asyncio.Event()

    class Server(asyncio.Protocol):
        def connection_made(self, transport):
            self.transport = transport

        def data_received(self, data):
            self.transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(MUCH))
            self.transport.write(MUCH)

        def pause_writing(self):
            is_held_up.set()

        def resume_writing(self):
            is_held_up.clear()

    loop = asyncio.get_running_loop()
    async with await loop.create_server(Server, "127.0.0.1", 0) as server, client() as http:
        port = server.sockets[0].getsockname()[1]
        async with http.stream("GET", f"http://{HOST}:{port}/") as response:
            pieces = response.aiter_raw()
            first = await anext(pieces)
            await is_held_up.wait()
            for _ in range(1000):
                await asyncio.sleep(0)
            assert is_held_up.is_set()
            assert first + b"".join([piece async for piece in pieces]) == MUCH


@pytest.mark.parametrize(
    ("timeouts", "content", "error"),
    [({"read": 0.05}, b"", httpx.ReadTimeout), ({"write": 0.05}, MUCH, httpx.WriteTimeout)],
    ids=["read", "write"],
)
async def test_unresponsive_servers_time_out(timeouts, content, error):
    is_over = asyncio.Event()

    async def silence(reader, writer):
        await is_over.wait()
        writer.transport.abort()

    async with listening(silence) as port:
        async with client(**timeouts) as http:
            with pytest.raises(error):
                await http.post(f"http://{HOST}:{port}/", content=content)
        is_over.set()


CERTIFICATES = """
import asyncio, httpx
from a2a_adapters.net.transport import PooledTransport

async def answer(reader, writer):
    await reader.readuntil(b"\\r\\n\\r\\n")
    writer.write(b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nok")
    writer.close()

async def main():
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    place = "127.0.0.1:%d" % server.sockets[0].getsockname()[1]
    limits = httpx.Limits(max_connections=1)
    async with server, httpx.AsyncClient(transport=PooledTransport(None, limits)) as client:
        for _ in range(2):
            try:
                await client.get(f"https://{place}")
            except httpx.ConnectError as error:
                print(error)
        print((await client.get(f"http://{place}")).text)

asyncio.run(main())
"""


@pytest.mark.parametrize("content", [None, "no certificate"])
def test_unreadable_certificates_fail_https_only(content, tmp_path):
    file = tmp_path / "ca.pem"
    if content:
        file.write_text(content)
    done = subprocess.run(
        [sys.executable, "-c", CERTIFICATES],
        env={**os.environ, "SSL_CERT_FILE": str(file)},
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE,
    )
    *errors, answer = done.stdout.splitlines()
    assert len(errors) == 2
    assert all("cannot be read" in error and "SSL_CERT_FILE" in error for error in errors)
    assert answer == "ok"


async def test_an_unanswered_handshake_times_out(certificates):
    async def silence(reader, writer):
        assert await reader.read()  # until the client has gone

    async with listening(silence) as port, client(certificates[1], connect=0.05) as http:
        with pytest.raises(httpx.ConnectTimeout):
            await http.get(f"https://{HOST}:{port}/")


@pytest.mark.parametrize(
    ("scheme", "said", "error"),
    [
        ("https", b"SSH-2.0-OpenSSH_9.2\r\n", httpx.ConnectError),
        ("https", b"", httpx.ConnectError),
        ("http", b"", httpx.RemoteProtocolError),
        ("http", b"SSH-2.0-OpenSSH_9.2\r\n", httpx.RemoteProtocolError),
    ],
)
async def test_servers_that_violate_http_raise_httpx_errors(certificates, scheme, said, error):
    async def other(reader, writer):
        await reader.read(1)
        writer.write(said)

    async with listening(other) as port, client(certificates[1]) as http:
        with pytest.raises(error):
            await http.get(f"{scheme}://{HOST}:{port}/")


async def test_a_reset_connection_raises_httpx_errors():
    async def reset(reader, writer):
        await requested(reader)
        at_once = struct.pack("ii", 1, 0)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, at_once)

    async with listening(reset) as port, client() as http:
        with pytest.raises(httpx.ReadError):
            await http.get(f"http://{HOST}:{port}/")


async def test_an_answer_that_comes_before_the_end_of_a_request_is_read():
    async def refuse(reader, writer):
        await requested(reader)
        writer.write(b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\n\r\n")
        writer.write_eof()
        while await reader.read(1 << 16):
            pass

    async with listening(refuse) as port, client() as http:
        response = await http.post(f"http://{HOST}:{port}/", content=MUCH)
        assert response.status_code == 413


async def test_connections_closed_while_the_event_loop_was_blocked_are_not_reused():
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer_once():
            connection, _ = server.accept()
            with connection:
                connection.recv(1 << 16)
                connection.sendall(OK)

        async with client() as http:
            for _ in range(3):
                answering = threading.Thread(target=answer_once)
                answering.start()
                response = await http.get(f"http://{HOST}:{server.getsockname()[1]}/")
                assert response.text == "ok"
                answering.join()  # the event loop is blocked


async def test_cancelling_a_request_closes_its_connection():
    came, went = asyncio.Event(), asyncio.Event()

    async def silence(reader, writer):
        await requested(reader)
        came.set()
        assert not await reader.read()
        went.set()

    async with listening(silence) as port, client() as http:
        request = asyncio.create_task(http.get(f"http://{HOST}:{port}/"))
        await came.wait()
        request.cancel()
        with pytest.raises(asyncio.CancelledError):
            await request
        await went.wait()


@pytest.mark.parametrize(
    "place", ["a..example", "a" * 64 + ".example", ".example", "127.0.0.1:65536"]
)
async def test_impossible_addresses_are_not_connected_to(place):
    transport = PooledTransport(None, httpx.Limits())
    async with httpx.AsyncClient(transport=transport) as http:
        with pytest.raises(httpx.ConnectError):
            await http.get(f"http://{place}/")


async def test_the_address_that_answers_first_is_connected_to():
    async def both(host, of):
        return ["127.0.0.2", "127.0.0.1"]

    own = OutboundPolicy(allow_private=True, resolver=both)
    with full("127.0.0.2") as port:
        async with listening(answer, port), own.client(timeout=60) as http:
            assert (await http.get(f"http://{HOST}:{port}/")).text == "ok"


@contextmanager
def full(address):
    """Yield a port with a full connection queue, which therefore does not respond."""
    with ExitStack() as closing:
        server = closing.enter_context(socket.create_server((address, 0), backlog=0))
        for _ in range(2):
            connection = closing.enter_context(socket.socket())
            connection.setblocking(False)
            connection.connect_ex(server.getsockname())
        yield server.getsockname()[1]
