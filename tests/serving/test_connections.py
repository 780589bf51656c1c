"""Connections: accepted fairly, pipelined requests, and closed while they open."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import os
import resource
import select
import socket
from contextlib import AsyncExitStack, asynccontextmanager
from urllib.parse import urlsplit

import httpx
import pytest
import uvloop
from opentelemetry import propagate

from a2a_adapters import Limits, ServerOptions, build_app
from a2a_adapters.observability.requests import CURRENT_REQUEST
from a2a_adapters.serving.server import Server, options_for
from a2a_adapters.testing import running
from tests.support.requests import rpc, say

TRACEPARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


def request(text, *headers):
    body = json.dumps(rpc("SendMessage", say(text, messageId=text)))
    lines = ["POST / HTTP/1.1", "Host: localhost", "A2A-Version: 1.0", *headers]
    return "\r\n".join([*lines, f"Content-Length: {len(body)}", "", body]).encode()


async def test_a_request_does_not_see_the_previous_ones_context():
    seen = {}

    async def look(text):
        carrier = {}
        propagate.inject(carrier)
        seen[text] = carrier.get("traceparent", ""), CURRENT_REQUEST.get()
        return text

    app = build_app(look, options=ServerOptions(trust_traces="all"))
    async with running(app) as url:
        address = httpx.URL(url)
        reader, writer = await asyncio.open_connection(address.host, address.port)
        traced = f"traceparent: {TRACEPARENT}"
        for texts in (("a", "b", "c"), ("d", "e")):
            first, *others = texts
            writer.write(request(first, traced) + b"".join(map(request, others)))
        async with asyncio.timeout(60):
            while len(seen) < 5:
                assert await reader.read(1000)
        writer.close()
    assert [seen[text][0] for text in "abcde"] == [TRACEPARENT, "", "", TRACEPARENT, ""]
    assert [seen[text][1] for text in "bce"] == [None] * 3


@pytest.mark.parametrize("turns", range(5))
async def test_a_connection_that_is_just_being_accepted_is_closed(turns):
    async with running(build_app(lambda text: text)) as url:
        address = urlsplit(url)
        client = socket.create_connection((address.hostname, address.port))
        for _ in range(turns):
            await asyncio.sleep(0)
    client.close()
    gc.collect()  # unclosed resources raise warnings, which are errors


def get(path):
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode()


@asynccontextmanager
async def serving(target, options=None):
    """Serve `target` as `serve` does, in the running event loop; yield the port."""
    started = asyncio.get_running_loop().create_future()
    options = options_for("127.0.0.1", options, None, allow_unauthenticated=False)
    app = build_app(target, options=options)
    server = Server(app, "127.0.0.1", 0, options, lambda roots, _: started.set_result(roots[0]))
    run = asyncio.create_task(server.serve())
    try:
        yield urlsplit(await started).port
    finally:
        server.should_exit = True
        await run


async def turns_until_answered(clients):
    """Return the number of turns of the event loop until all clients have an answer."""
    turns = 0
    while clients:
        readable, _, _ = select.select(clients, [], [], 0)
        clients = [each for each in clients if each not in readable]
        await asyncio.sleep(0)
        turns += 1
    return turns


@pytest.mark.parametrize("loop", [asyncio, uvloop])
def test_connections_that_arrive_together_are_accepted_together(loop):
    async def main():
        async with serving(lambda text: text) as port, AsyncExitStack() as stack:
            clients = [
                stack.enter_context(socket.create_connection(("127.0.0.1", port)))
                for _ in range(100)
            ]
            for client in clients:
                client.sendall(get("/healthz"))
            return await turns_until_answered(clients)

    assert loop.run(main()) < 50


def lowest_free_descriptor():
    descriptor = os.open(os.devnull, os.O_RDONLY)
    os.close(descriptor)
    return descriptor


def test_accepting_continues_when_files_are_available_again(caplog):
    caplog.set_level(logging.WARNING, logger="uvicorn.error")
    logging.getLogger("uvicorn.error").addHandler(caplog.handler)  # it may not propagate

    async def main():
        async with serving(lambda text: text) as port, AsyncExitStack() as stack:
            client = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
            client.sendall(get("/healthz"))
            kept = resource.getrlimit(resource.RLIMIT_NOFILE)
            resource.setrlimit(resource.RLIMIT_NOFILE, (lowest_free_descriptor(), kept[1]))
            try:
                while "cannot accept connections" not in caplog.text:  # noqa: ASYNC110 - no event
                    await asyncio.sleep(0)
            finally:
                resource.setrlimit(resource.RLIMIT_NOFILE, kept)
            await turns_until_answered([client])
            return client.recv(100)

    assert uvloop.run(main()).startswith(b"HTTP/1.1 200")


@pytest.mark.thorough
@pytest.mark.parametrize("loop", [asyncio, uvloop])
def test_new_requests_are_answered_while_a_thousand_streams_run(loop):
    said = 0
    over, all_run = asyncio.Event(), asyncio.Event()

    async def talk(text):
        nonlocal said
        while text != "hello" and not over.is_set():
            said += text == "0"
            if said == 5:
                all_run.set()
            yield "word "
            await asyncio.sleep(0)
        yield "bye"

    async def ask(port, content, ending):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(content)
        await reader.readuntil(ending)
        return reader, writer

    async def listen(port, number):
        method = ("Host: localhost", "A2A-Version: 1.0")
        body = json.dumps(rpc("SendStreamingMessage", say(str(number), messageId=f"s{number}")))
        lines = ["POST / HTTP/1.1", *method, f"Content-Length: {len(body)}", "", body]
        reader, writer = await ask(port, "\r\n".join(lines).encode(), b"word ")
        while await reader.read(1 << 16):
            if over.is_set():
                break
        writer.close()

    async def main():
        async with serving(talk, ServerOptions(limits=Limits(runs=2000))) as port:
            streams = [asyncio.create_task(listen(port, number)) for number in range(1000)]
            await all_run.wait()
            took = {}
            for path in ("/livez", "/healthz", "/.well-known/agent-card.json"):
                began = said
                _, writer = await ask(port, get(path), b"200 OK")
                writer.close()
                took[path] = said - began
            began = said
            _, writer = await ask(port, request("hello"), b"bye")
            writer.close()
            took["SendMessage"] = said - began
            over.set()
            await asyncio.gather(*streams)
            return took

    took = loop.run(main())
    assert max(took.values()) < 30, took
