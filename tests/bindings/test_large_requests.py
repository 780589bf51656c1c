"""Large requests are parsed sequentially, and small ones in parallel to them."""

from __future__ import annotations

import asyncio
import gc
import threading

import pytest

from a2a_adapters.bindings import http as reading
from tests.support.requests import V1, call, rpc, say, serving

LARGE = say("x", metadata={"a": [[]] * 5_000})


async def echo(text):
    return text


@pytest.mark.parametrize("path", ["/", "/message:send"])
async def test_large_requests_are_parsed_one_at_a_time(monkeypatch, path):
    """Parsing takes twenty times a request's size: a thousand requests would take a gigabyte."""
    parsing, parsed = threading.Lock(), []
    parse = reading.from_json

    def counted(body, **options):
        found = parse(body, **options)
        if len(body) > 8 * 1024:
            with parsing:
                gc.collect()
                large = [o for o in gc.get_objects() if isinstance(o, list) and len(o) == 5_000]
                parsed.append(len(large))
                del large
        return found

    monkeypatch.setattr(reading, "from_json", counted)
    gc.collect()
    gc.freeze()  # the collector need not scan existing objects each time
    async with serving(echo) as http:
        body = rpc("SendMessage", LARGE) if path == "/" else LARGE
        sent = [http.post(path, json=body, headers=V1) for _ in range(10)]
        small = asyncio.gather(*(call(http, "SendMessage", say("y")) for _ in range(10)))
        answers = await asyncio.gather(*sent)
        await small
    assert [answer.status_code for answer in answers] == [200] * 10
    assert len(parsed) == 10
    assert max(parsed) <= 2, "the one, and what is just being let go"


@pytest.mark.parametrize("path", ["/", "/message:send"])
async def test_requests_of_disconnected_clients_are_not_parsed(monkeypatch, path):
    begun, go = threading.Event(), threading.Event()
    parse, seen = reading.from_json, []

    def held(body, **options):
        if len(body) > 8 * 1024:
            seen.append(body)
            begun.set()
            go.wait(60)
        return parse(body, **options)

    monkeypatch.setattr(reading, "from_json", held)
    async with serving(echo) as http:
        body = rpc("SendMessage", LARGE) if path == "/" else LARGE
        first = asyncio.ensure_future(http.post(path, json=body, headers=V1))
        await asyncio.to_thread(begun.wait, 20)
        leaving = [asyncio.ensure_future(http.post(path, json=body, headers=V1)) for _ in range(5)]
        await asyncio.sleep(0.2)
        for each in leaving:
            each.cancel()
        await asyncio.wait(leaving)
        await call(http, "SendMessage", say("small ones are answered meanwhile"))
        go.set()
        assert (await first).status_code == 200
        last = await http.post(path, json=body, headers=V1)
        assert last.status_code == 200
    assert len(seen) < 7
