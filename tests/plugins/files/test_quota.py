"""The room of an owner stays exact when runs are cancelled and servers are killed."""

from __future__ import annotations

import asyncio

import httpx
import obstore
import pytest

from a2a_adapters import AgentRequest, Output, RemoteAgent
from a2a_adapters.testing import running
from tests.plugins.files.support import app, stored
from tests.support.processes import PATIENCE

ANN = {"Authorization": "Bearer t0ken-ann"}
UNIT = 64 * 1024
"""The least that a file counts."""


class Gate:
    """Holds the next write whose path has a word; it goes on even if its caller is cancelled."""

    def __init__(self, monkeypatch, word):
        self._put = obstore.put_async
        self._word = word
        self.is_due, self._may_go = asyncio.Event(), asyncio.Event()
        self.is_armed = True
        monkeypatch.setattr(obstore, "put_async", self._held)

    async def _held(self, store, path, body, **options):
        if self.is_armed and self._word in path:
            self.is_armed = False
            return await asyncio.shield(
                asyncio.ensure_future(self._later(store, path, body, options))
            )
        return await self._put(store, path, body, **options)

    async def _later(self, store, path, body, options):
        self.is_due.set()
        await self._may_go.wait()
        return await self._put(store, path, body, **options)

    def open(self):
        self._may_go.set()


async def reserved(http, url, size):
    answer = await http.post(f"{url}/files", json={"size": size}, headers=ANN)
    assert answer.status_code in (201, 413)
    return answer.status_code == 201


async def free(http, url, size):
    """Wait until an owner has room for a file, and take it."""
    async with asyncio.timeout(PATIENCE):
        while True:
            if await reserved(http, url, size):
                return
            await asyncio.sleep(0.01)


def adding(store, size):
    async def pieces():
        yield b"x" * size

    async def adds(request: AgentRequest):
        """Send a file."""
        yield Output([await store.add(pieces())])

    return adds


async def cancelled_at(gate, agent):
    """Start a run, and cancel it while a write is held."""
    task = await agent.as_user("t0ken-ann").start("add")
    await gate.is_due.wait()
    await task.cancel()
    gate.open()


@pytest.mark.parametrize("number", [1, 2], ids=["grows", "shrinks"])
async def test_a_run_that_is_cancelled_while_its_file_is_counted(tmp_path, monkeypatch, number):
    """Neither are the bytes counted for good, nor given back twice."""
    store = stored(tmp_path, owner_bytes=160 * UNIT)  # a stream counts 10 more in advance
    async with (
        running(app(adding(store, UNIT), store)) as url,
        RemoteAgent(url) as agent,
        httpx.AsyncClient(timeout=60) as http,
    ):
        assert await reserved(http, url, 100 * UNIT)
        gate = Gate(monkeypatch, f"/count/{number + 1}")
        await cancelled_at(gate, agent)
        await free(http, url, 60 * UNIT)
        assert not await reserved(http, url, 1)


async def test_a_run_that_is_cancelled_while_a_piece_is_written_leaves_none(tmp_path, monkeypatch):
    store = stored(tmp_path, owner_bytes=16 * UNIT)
    gate = Gate(monkeypatch, "/00000")
    async with (
        running(app(adding(store, UNIT), store)) as url,
        RemoteAgent(url) as agent,
        httpx.AsyncClient(timeout=60) as http,
    ):
        await cancelled_at(gate, agent)
        await free(http, url, 16 * UNIT)
    assert not list(tmp_path.rglob("00000"))


async def test_remains_of_a_killed_writer_are_deleted_when_they_expire(tmp_path):
    store = stored(tmp_path, expiry_seconds=1)
    file_id = store.links.new_id("ann", -1)
    await store.objects.write(file_id, 0, b"x")
    folder = tmp_path / file_id.folder
    (folder / "00001#1").write_bytes(b"half")  # as obstore names a file until it is complete
    kept = store.links.new_id("ann", 100)
    await store.objects.write(kept, 0, b"x")
    (tmp_path / kept.folder / "00001#1").write_bytes(b"half")
    await store.tidy()
    assert not folder.exists()
    assert len(list((tmp_path / kept.folder).iterdir())) == 2
