"""A stalled event loop does not count as a loss of bus messages."""

from __future__ import annotations

import asyncio
import time

import pytest
from a2a_adapters_sql.replicas import batches
from a2a_adapters_sql.replicas.bus import BusMessage

from tests.plugins.sql.conftest import storage_at
from tests.plugins.sql.replicas.carriers import CARRIERS
from tests.support.postgresql import new_database


@pytest.mark.parametrize("carrier", CARRIERS)
async def test_messages_sent_while_the_loop_stalls_are_not_lost(carrier, monkeypatch, caplog):
    url = new_database()
    storage = storage_at(url, bus=CARRIERS[carrier](url).bus)
    await storage.start()
    bus = storage.database.bus
    came = asyncio.Event()
    bus.listen("agent", lambda _: came.set(), lambda: None)
    monkeypatch.setattr(batches, "ANSWER_SECONDS", 2)
    deliver = bus._deliver

    async def stand_still_during(letters, how):
        async def begun(payloads, seconds):
            asyncio.get_running_loop().call_soon(time.sleep, 2.5)
            await how(payloads, seconds)

        await deliver(letters, begun)

    monkeypatch.setattr(bus, "_deliver", stand_still_during)
    await bus.send(BusMessage(storage.database.process_id, "agent", b"letter"))
    await came.wait()
    assert "lost its connection" not in caplog.text
    await storage.aclose(1)
