"""A commit whose answer is lost, and one that takes too long."""

from __future__ import annotations

import asyncio

import pytest

from a2a_adapters.protocol.errors import StorageUnavailableError
from a2a_adapters.storage import commit
from a2a_adapters.storage.interface import UsedMessage
from tests.storage.conftest import storage_at
from tests.storage.test_contract import task


@pytest.fixture
async def storage(database_url):
    opened = storage_at(database_url)
    await opened.start()
    yield opened
    await opened.aclose(1)


async def test_what_was_written_unheard_is_taken_back(storage, monkeypatch):
    commits = storage.database.commits
    transaction = commits._transaction

    async def unheard(writes):
        await transaction(writes)
        raise OSError("the answer is lost")

    poet = storage.of("poet")
    monkeypatch.setattr(commits, "_transaction", unheard)
    with pytest.raises(StorageUnavailableError):
        await poet.accept("ann", "message-1", b"digest", task("first"))
    monkeypatch.undo()
    again = await poet.accept("ann", "message-1", b"digest", task("second"))
    assert not isinstance(again, UsedMessage)


async def test_what_takes_too_long_together_is_written_apart(storage, monkeypatch):
    commits = storage.database.commits
    transaction = commits._transaction

    async def slow(writes):
        if len(writes) > 1:
            raise TimeoutError
        return await transaction(writes)

    monkeypatch.setattr(commits, "_transaction", slow)
    monkeypatch.setattr(commit, "_PAUSES", (0.001,))
    poet = storage.of("poet")
    writing = (poet.write_state("ann", f"c{n}", "kind", b"x") for n in range(8))
    async with asyncio.timeout(60):
        await asyncio.gather(*writing)
    assert await poet.read_state("ann", "c7", "kind") == b"x"
