"""Connections to URLs that others provide."""

from __future__ import annotations

import asyncio
import socket
import threading
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse, RedirectResponse, StreamingResponse
from starlette.routing import Route

from a2a_adapters import ForbiddenUrlError, OutboundPolicy
from a2a_adapters.testing import running
from tests.net.test_network import HOST, listening
from tests.support.tls import tls_contexts

PUBLIC = "93.184.215.14"


class Names:
    """A resolver of one host that gives its answers in order and repeats the last one."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.asked = []

    async def __call__(self, host, port):
        self.asked.append((host, port))
        if host != HOST:
            raise OSError("no such host")
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def policy(*addresses, **settings):
    return OutboundPolicy(resolver=Names(list(addresses)), **settings)


class System:
    """The system's resolver: slow names until released, and no others."""

    def __init__(self, monkeypatch):
        self.may_end = threading.Event()
        self.asked = []
        self._real = socket.getaddrinfo
        monkeypatch.setattr(socket, "getaddrinfo", self.look_up)

    def look_up(self, host, port, *args, **options):
        if not str(host).endswith(".example"):
            return self._real(host, port, *args, **options)
        self.asked.append(host)
        if str(host).startswith("slow"):
            self.may_end.wait()
        raise socket.gaierror(socket.EAI_NONAME, "unknown")


async def test_slow_host_names_block_nothing_else(monkeypatch):
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
    system = System(monkeypatch)
    own = OutboundPolicy(resolve_seconds=0.01)
    try:
        for number in range(20):
            await own.check(f"http://slow{number}.example/")
            await own.check(f"http://slow{number}.example/")
        assert await asyncio.to_thread(lambda: "free") == "free"
        assert len(system.asked) == len(set(system.asked)) <= 8
    finally:
        system.may_end.set()
    # Awaited, because asyncio logs the failures at a later garbage collection otherwise.
    for number in range(20):
        await OutboundPolicy().check(f"http://slow{number}.example/")


async def test_a_failed_look_up_is_cached(monkeypatch):
    system = System(monkeypatch)
    for _ in range(3):
        await OutboundPolicy().check("http://nobody.example/")
    assert system.asked == ["nobody.example"]


@pytest.mark.parametrize("host", ["a..b", "xn--a", "x" * 64 + ".example", ".example"])
async def test_invalid_agent_names_are_refused(host):
    with pytest.raises(ForbiddenUrlError):
        await OutboundPolicy().check(f"http://{host}/")


async def hello(request):
    return PlainTextResponse(f"hello at {request.headers['host']}")


async def elsewhere(request):
    return RedirectResponse("/hello")


async def in_pieces(request):
    async def pieces():
        for piece in (b"one ", b"two"):
            yield piece

    return StreamingResponse(pieces())


@pytest.fixture
async def port():
    routes = [Route("/hello", hello), Route("/redirect", elsewhere), Route("/pieces", in_pieces)]
    async with running(Starlette(routes=routes)) as url:
        yield httpx.URL(url).port


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "127.8.8.8",
        "10.1.2.3",
        "172.31.0.1",
        "192.168.1.1",
        "100.64.0.1",
        "::1",
        "fd12::1",
        "::ffff:127.0.0.1",
        "64:ff9b::7f00:1",
        "64:ff9b::10.0.0.1",
    ],
)
async def test_private_networks_are_refused_unless_allowed(address):
    with pytest.raises(ForbiddenUrlError, match="allow_private=True"):
        await policy(address).check(f"http://{HOST}/")
    await policy(address, allow_private=True).check(f"http://{HOST}/")
    await policy(address, allowed_hosts=frozenset({"Agent.Example."})).check(f"http://{HOST}/")


@pytest.mark.parametrize(
    "address",
    [
        "0.0.0.0",
        "::",
        "169.254.169.254",
        "169.254.1.1",
        "fe80::1",
        "fe80::1%eth0",
        "fec0::1",
        "fd00:ec2::254",
        "100.100.100.200",
        "168.63.129.16",
        "192.0.0.192",
        "192.88.99.1",
        "198.18.0.1",
        "224.0.0.1",
        "ff0e::1",
        "240.0.0.1",
        "255.255.255.255",
        "::127.0.0.1",
        "::ffff:169.254.169.254",
        "64:ff9b:1::7f00:1",
        "64:ff9b::a9fe:a9fe",
        "2002:7f00:1::",
        "2001:0:4136:e378::1",
        "2001:db8::1",
        "3fff::1",
        "5f00::1",
    ],
)
async def test_special_addresses_are_refused_unless_allowed(address):
    with pytest.raises(ForbiddenUrlError, match="special address"):
        await policy(address, allow_private=True).check(f"http://{HOST}/")
    await policy(address, allowed_hosts=frozenset({HOST})).check(f"http://{HOST}/")


@pytest.mark.parametrize(
    "address", [PUBLIC, "2606:2800:21f::1", "::ffff:8.8.8.8", "64:ff9b::808:808"]
)
async def test_public_addresses_are_allowed(address):
    await policy(address).check(f"https://{HOST}/path?query")


async def test_one_forbidden_address_among_others_is_enough():
    with pytest.raises(ForbiddenUrlError):
        await policy(PUBLIC, "10.0.0.1").check(f"http://{HOST}/")


@pytest.mark.parametrize(
    "url",
    [
        "ftp://agent.example/",
        "file:///etc/passwd",
        "agent.example",
        "//agent.example",
        "http://",
        "http:///path",
        "http://user:secret@agent.example/",
        "http://user@agent.example/",
        "http://[::1",
        "http://agent.example:99999/",
        "http://agent.example\x00/",
        "http://\ud800/",
        "",
    ],
)
async def test_urls_of_a_wrong_form_are_refused(url):
    names = Names([PUBLIC])
    with pytest.raises(ForbiddenUrlError) as caught:
        await OutboundPolicy(resolver=names).check(url)
    assert "secret" not in str(caught.value)
    assert names.asked == []


async def test_https_and_ports_can_be_demanded():
    await policy(PUBLIC, https_only=True).check(f"https://{HOST}/")
    with pytest.raises(ForbiddenUrlError, match="https"):
        await policy(PUBLIC, https_only=True).check(f"http://{HOST}/")
    web = policy(PUBLIC, ports=frozenset({443}))
    await web.check(f"https://{HOST}/")
    for url in (f"https://{HOST}:8443/", f"http://{HOST}/", f"https://{HOST}:0/"):
        with pytest.raises(ForbiddenUrlError, match="port"):
            await web.check(url)


@pytest.mark.parametrize(
    "host", ["2130706433", "0x7f.1", "127.1", "localhost", "[::1]", "127.0.0.1"]
)
async def test_other_spellings_of_this_machine_are_seen_through(host, port):
    url = f"http://{host}:{port}/hello"
    with pytest.raises(ForbiddenUrlError):
        await OutboundPolicy().check(url)
    async with OutboundPolicy().client() as client:
        with pytest.raises(ForbiddenUrlError):
            await client.get(url)


async def never(host, port):
    await asyncio.Event().wait()


@pytest.mark.parametrize(
    "unknown",
    [policy(), OutboundPolicy(resolver=never, resolve_seconds=0.01), OutboundPolicy()],
    ids=["no address", "no answer", "the system's resolver"],
)
async def test_names_that_cannot_be_resolved_fail_when_connecting(unknown):
    url = "http://nobody.invalid/" if unknown == OutboundPolicy() else f"http://{HOST}/"
    await unknown.check(url)
    async with unknown.client() as client:
        with pytest.raises(httpx.ConnectError, match="cannot be resolved"):
            await client.get(url)


async def test_a_name_that_changes_its_mind_is_refused_when_connecting(port):
    rebinding = OutboundPolicy(resolver=Names([PUBLIC], ["127.0.0.1"]))
    url = f"http://{HOST}:{port}/hello"
    await rebinding.check(url)
    async with rebinding.client() as client:
        with pytest.raises(ForbiddenUrlError):
            await client.get(url)


async def test_a_connection_goes_to_the_very_address_that_was_checked(port):
    names = Names(["127.0.0.1"], [PUBLIC])  # a second lookup would give another address
    async with OutboundPolicy(resolver=names, allow_private=True).client() as client:
        for _ in range(3):
            answer = await client.get(f"http://{HOST}:{port}/hello")
            assert answer.text == f"hello at {HOST}:{port}"
    assert names.asked == [(HOST, port)]


async def test_the_next_address_is_tried_when_one_does_not_answer(port):
    async with policy("127.9.9.9", "127.0.0.1", allow_private=True).client() as client:
        answer = await client.get(f"http://{HOST}:{port}/hello")
        assert answer.status_code == 200
        with pytest.raises(httpx.ConnectError):
            await client.get(f"http://{HOST}:1/hello")


async def test_redirects_are_not_followed_and_checked_if_one_follows_them(port):
    own = policy("127.0.0.1", allow_private=True)
    async with own.client() as client:
        assert (await client.get(f"http://{HOST}:{port}/redirect")).status_code == 307

    def to_metadata(request):
        return RedirectResponse("http://169.254.169.254/latest/meta-data")

    app = Starlette(routes=[Route("/", to_metadata)])
    async with running(app) as url:
        following = httpx.AsyncClient(
            transport=OutboundPolicy(allow_private=True).transport(), follow_redirects=True
        )
        async with following as client:
            with pytest.raises(ForbiddenUrlError, match="special address"):
                await client.get(url)


async def test_proxies_of_the_environment_are_not_used(port, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    async with OutboundPolicy(allow_private=True).client() as client:
        assert (await client.get(f"http://127.0.0.1:{port}/hello")).status_code == 200


async def test_answers_are_streamed_and_broken_ones_raise_httpx_errors(port):
    own = OutboundPolicy(allow_private=True)
    async with (
        own.client() as client,
        client.stream("GET", f"http://127.0.0.1:{port}/pieces") as answer,
    ):
        assert b"".join([piece async for piece in answer.aiter_bytes()]) == b"one two"

    async def break_off(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
        writer.close()

    async with (
        listening(break_off) as broken,
        OutboundPolicy(allow_private=True).client() as client,
    ):
        with pytest.raises(httpx.RemoteProtocolError):
            await client.get(f"http://127.0.0.1:{broken}/")


async def test_a_server_that_never_answers_times_out():
    async def silence(reader, writer):
        await reader.read()
        writer.close()

    own, limits = OutboundPolicy(allow_private=True), httpx.Timeout(60, read=0.1)
    async with listening(silence) as port, own.client(timeout=limits) as client:
        with pytest.raises(httpx.ReadTimeout):
            await client.get(f"http://127.0.0.1:{port}/")


async def test_certificates_are_checked_against_the_name_of_the_host():
    theirs, ours = tls_contexts(HOST)
    asked = []
    theirs.sni_callback = lambda connection, name, context: asked.append(name)

    async def answer(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
        writer.close()

    async def local(host, port):
        return ["127.0.0.1"]

    own = OutboundPolicy(https_only=True, allow_private=True, resolver=local)
    async with listening(answer, ssl=theirs) as port, own.client(ssl_context=ours) as client:
        assert (await client.get(f"https://{HOST}:{port}/")).text == "ok"
        assert asked == [HOST]
        with pytest.raises(httpx.ConnectError, match="CERTIFICATE"):
            await client.get(f"https://other.example:{port}/")
