"""Limits of the headers of a request, and their cost."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from contextlib import closing

import grpc.aio
import httpx
import pytest

from a2a_adapters import BearerTokens, Limits, ServerOptions, build_app
from a2a_adapters.protocol.headers import read_headers
from a2a_adapters.testing import running
from tests.support.requests import V1, grpc_port, rpc, say

LIMIT = 64 * 1024
TOKENS = BearerTokens({"secret": "ann"})


async def echo(text):
    return text


async def asked(app, headers, path="/"):
    """Return the answer of an app to a request with these headers."""
    sent = []
    scope = {
        "type": "http",
        "method": "POST",
        "path": path,
        "query_string": b"",
        "headers": headers,
        "server": ("127.0.0.1", 80),
    }

    async def receive():
        return {"type": "http.request", "body": b"{}"}

    async def send(message):
        sent.append(message)

    await app(scope, receive, send)
    return sent[0]["status"], sent[1]["body"]


def cost(work):
    """Return the minimum CPU seconds of several calls."""
    times = []
    for _ in range(3):
        begun = time.process_time()
        work()
        times.append(time.process_time() - begun)
    return min(times)


def test_headers_are_joined_in_linear_time():
    def read(count):
        return cost(lambda: read_headers({"headers": [(b"a", b"bcd")] * count}))

    assert read(400_000) < 40 * read(40_000)
    joined = read_headers({"headers": [(b"a", b"1"), (b"b", b"2"), (b"a", b"3"), (b"a", b"")]})
    assert joined == {"a": "1, 3, ", "b": "2"}


@pytest.mark.parametrize("options", [{}, {"authentication": TOKENS}])
@pytest.mark.parametrize(
    "headers",
    [[(b"a", b"bcd")] * 2000, [(b"a", b"x" * LIMIT)], [(b"x" * LIMIT, b"")]],
    ids=["many", "a long one", "a long name"],
)
@pytest.mark.parametrize("path", ["/", "/message:send", "/.well-known/agent-card.json", "/healthz"])
async def test_too_many_are_refused_before_anything_else(options, headers, path):
    app = build_app(echo, options=ServerOptions(**options))
    status, body = await asked(app, headers, path)
    assert status == 431
    assert f"at most {LIMIT} bytes".encode() in body


async def test_the_limit_can_be_changed():
    app = build_app(echo, options=ServerOptions(limits=Limits(header_bytes=200)))
    fits, larger = [(b"host", b"localhost")], [(b"host", b"localhost"), (b"a", b"b" * 200)]
    assert (await asked(app, fits))[0] == 200
    assert (await asked(app, larger))[0] == 431


async def test_a_long_address_is_refused():
    assert (await asked(build_app(echo), [], "/tasks/" + LIMIT * "x"))[0] == 431


async def test_refused_headers_are_neither_kept_nor_logged_in_full(caplog):
    caplog.set_level(logging.INFO)
    app = build_app(echo)
    for name in (b"host", b"origin"):
        for number in range(10):
            text = str(number).encode() * 60_000
            status, body = await asked(app, [(name, text)], "/" + "p" * 3000)
            assert status in (400, 403)
            assert len(body) < 1000
    for record in caplog.records:
        assert len(record.getMessage()) < 1000
        assert len(str(record.__dict__.get("path", ""))) < 1000


async def test_refused_headers_are_not_logged_in_full_with_authentication(caplog):
    app = build_app(echo, options=ServerOptions(authentication=TOKENS))
    status, _ = await asked(app, [(b"authorization", b"Bearer x")], "/" + "p" * 60_000)
    assert status == 401
    assert all(len(record.getMessage()) < 1000 for record in caplog.records)


@pytest.fixture
async def address():
    """Serve as `serve` does; yield host and port."""
    async with running(build_app(echo)) as url:
        yield httpx.URL(url).host, httpx.URL(url).port


BODY = json.dumps(rpc("SendMessage", say("hello"))).encode()
CHUNKED = b"%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY)


@pytest.mark.parametrize("options", [{}, {"authentication": TOKENS}], ids=["open", "tokens"])
@pytest.mark.parametrize(
    ("fields", "body", "status"),
    [
        (["Host: localhost"], b"", 200),
        (["Host: localhost", "Host: localhost"], b"", 400),
        (["Host: localhost", "Host: evil.example"], b"", 400),
        (["Host: [127.0.0.1"], b"", 400),
        (["Host: localhost", "Transfer-Encoding: chunked"], CHUNKED, 200),
        (["Host: localhost", "Transfer-Encoding: Chunked"], CHUNKED, 200),
        (
            ["Host: localhost", "Transfer-Encoding: identity", "Transfer-Encoding: chunked"],
            CHUNKED,
            400,
        ),
        (["Host: localhost", "Transfer-Encoding: identity, chunked"], CHUNKED, 400),
        (["Host: localhost", "Transfer-Encoding: gzip, chunked"], CHUNKED, 400),
        (["Host: localhost", "Transfer-Encoding: chunked", "Content-Length: 5"], CHUNKED, 400),
    ],
    ids=str,
)
async def test_a_proxy_and_the_server_cannot_read_a_request_differently(
    options, fields, body, status
):
    async with running(build_app(echo, options=ServerOptions(**options))) as url:
        address = httpx.URL(url)
        reader, writer = await asyncio.open_connection(address.host, address.port)
        if not body:
            body = BODY
            fields = [*fields, f"Content-Length: {len(BODY)}"]
        secret = "Authorization: Bearer secret"
        lines = ["POST / HTTP/1.1", "A2A-Version: 1.0", secret, "Connection: close", *fields]
        writer.write("\r\n".join([*lines, "", ""]).encode() + body)
        assert (await reader.readline()).startswith(b"HTTP/1.1 %d" % status)
        writer.close()


SMUGGLED = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize("upgrade", ["h2c", "websocket"])
async def test_a_body_after_an_offer_of_another_protocol_is_no_request(address, upgrade, apart):
    """Java's client offers HTTP/2 with each first request to a server without TLS."""
    offer = ["Connection: Upgrade, HTTP2-Settings", f"Upgrade: {upgrade}", "HTTP2-Settings: AA"]
    reader, writer = await asyncio.open_connection(*address)
    with closing(writer):
        for body, code in ((SMUGGLED, -32700), (BODY, None)):
            fields = ["Host: localhost", "A2A-Version: 1.0", f"Content-Length: {len(body)}"]
            writer.write("\r\n".join(["POST / HTTP/1.1", *fields, *offer, "", ""]).encode())
            for _ in range(20 if apart else 0):
                await asyncio.sleep(0)  # the server may read the head alone
            writer.write(body)
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            assert head.startswith(b"http/1.1 200")
            length = int(head.partition(b"content-length: ")[2].split(b"\r\n")[0])
            answer = json.loads(await reader.readexactly(length))
            assert answer.get("error", {}).get("code") == code


async def poured(address, begin, piece, most=20_000):
    """Send a piece until the server refuses; return its answer and the number of pieces."""
    reader, writer = await asyncio.open_connection(*address)
    sent = 0
    answer = b""
    try:
        writer.write(begin)
        while sent < most:
            writer.write(piece)
            await writer.drain()
            sent += 1
        answer = await reader.read(1000)
    except ConnectionError:
        pass
    finally:
        writer.close()
    return answer, sent


@pytest.mark.parametrize(
    ("begin", "piece"),
    [
        (b"POST / HTTP/1.1\r\n", b"a: bcd\r\n" * 1000),
        (b"POST / HTTP/1.1\r\na: ", b"x" * 10_000),
        (b"POST / HTTP/1.1\r\n", b"x" * 10_000),
        (b"POST /", b"x" * 10_000),
        (
            b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n",
            b"a: b\r\n" * 999,
        ),
        (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\na", b"x" * 9999),
    ],
    ids=["headers", "a value", "a name", "an address", "trailers", "a trailer"],
)
async def test_endless_requests_are_cut_off(address, begin, piece):
    answer, sent = await poured(address, begin, piece)
    assert sent < 2000, "the server reads on for ever"
    assert answer == b"" or answer.startswith((b"HTTP/1.1 431", b"HTTP/1.1 400", b"HTTP/1.1 421"))


async def test_a_long_header_in_chunks_is_accepted(address):
    reader, writer = await asyncio.open_connection(*address)
    writer.write(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\na: ")
    for _ in range(6):
        writer.write(b"x" * 10_000)
        await writer.drain()
        await asyncio.sleep(0)
    writer.write(b"\r\n\r\n")
    assert (await reader.readline()).startswith(b"HTTP/1.1 200")
    writer.close()


async def test_large_bodies_and_many_requests_on_one_connection_pass(address):
    host, port = address
    async with httpx.AsyncClient(base_url=f"http://{host}:{port}", headers=V1, timeout=60) as http:
        for _ in range(3):
            answer = await http.post("/", json=rpc("SendMessage", say("x" * 300_000)))
            assert answer.json()["result"]["task"]["status"]["state"] == "TASK_STATE_COMPLETED"


@pytest.mark.parametrize("metadata", [[("a", "x" * 60_000)] * 2, [("a", "bcd")] * 2000])
async def test_metadata_of_grpc(metadata):
    app = build_app(echo, options=ServerOptions(grpc_port=0))
    async with running(app), grpc.aio.insecure_channel(f"127.0.0.1:{grpc_port(app)}") as channel:
        get = channel.unary_unary("/lf.a2a.v1.A2AService/GetTask")
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await get(b"", metadata=metadata)
        assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await get(b"", metadata=[("a2a-version", "1.0"), ("a", "x" * 30_000)])
        assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
