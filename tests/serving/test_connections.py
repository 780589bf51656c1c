"""Connections: pipelined requests, and connections that are closed while they open."""

from __future__ import annotations

import asyncio
import gc
import json
import socket
from urllib.parse import urlsplit

import httpx
import pytest
from opentelemetry import propagate

from a2a_adapters import ServerOptions, build_app
from a2a_adapters.observability.requests import CURRENT
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
        seen[text] = carrier.get("traceparent", ""), CURRENT.get()
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
