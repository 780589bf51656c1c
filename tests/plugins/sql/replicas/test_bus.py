"""The bus on every carrier: messages arrive once and in order, or a loss is reported."""

from __future__ import annotations

import asyncio
import time

import psycopg
import pytest
from a2a_adapters_sql.replicas import batches
from a2a_adapters_sql.replicas.bus import BusMessage

from a2a_adapters import ConfigurationError
from tests.plugins.sql.conftest import opened, storage_at
from tests.plugins.sql.replicas.carriers import CARRIERS
from tests.support.postgresql import new_database

pytestmark = pytest.mark.timeout(5 * 60)


class End:
    """An end of the bus with its received messages."""

    def __init__(self, url, bus):
        self.storage = storage_at(url, bus=bus)
        self.letters = asyncio.Queue()
        self.losses = 0
        self.id = self.storage.database.process_id
        self.bus = self.storage.database.bus
        self.bus.listen("poet", self.letters.put_nowait, self.lose)

    def lose(self):
        self.losses += 1

    async def lost_more_than(self, before):
        while True:
            if self.losses > before and self.bus.is_ready:
                return
            await asyncio.sleep(0.05)

    async def send(self, to, body):
        await self.bus.send(BusMessage(to.id, "poet", body))

    async def received(self):
        async with asyncio.timeout(60):
            return (await self.letters.get()).body


@pytest.fixture
def url():
    return new_database()


@pytest.fixture(params=CARRIERS)
def carrier(request, url):
    """The carrier, whose connections tests can cut, and which they can send to directly."""
    return CARRIERS[request.param](url)


@pytest.fixture
async def ends(carrier, url):
    one, other = End(url, carrier.bus), End(url, carrier.bus)
    await one.storage.start()
    await other.storage.start()
    yield one, other
    await one.storage.aclose(1)
    await other.storage.aclose(1)


async def test_messages_of_any_size_arrive_once_and_in_order(ends):
    one, other = ends
    bodies = [bytes([number % 256]) * (1 if number % 10 else 50_000) for number in range(200)]
    await asyncio.gather(*(one.send(other, body) for body in bodies))
    assert [await other.received() for _ in bodies] == bodies
    await other.send(one, b"back")
    assert await one.received() == b"back"
    assert other.letters.empty()


async def test_an_interrupted_listener_is_notified_of_a_loss(ends, carrier):
    one, other = ends
    await one.send(other, b"before")
    assert await other.received() == b"before"
    before = other.losses
    carrier.cut_listeners()
    async with asyncio.timeout(60):
        await other.lost_more_than(before)
    await one.send(other, b"after")
    assert await other.received() == b"after"


async def test_unsent_messages_are_sent_when_the_carrier_returns(ends, carrier):
    one, other = ends
    await one.send(other, b"before")
    carrier.cut_senders()
    async with asyncio.timeout(60):
        await asyncio.gather(*(one.send(other, b"%d" % number) for number in range(20)))
    assert await other.received() == b"before"
    assert [await other.received() for _ in range(20)] == [b"%d" % number for number in range(20)]


async def test_messages_to_dead_processes_are_dropped(ends):
    one, _ = ends
    await one.bus.send(BusMessage("nobody", "poet", b"hello"))
    assert one.losses == 1  # the start of listening


DISTURBANCES = {
    "a lost batch": ([], 1, 1),
    "a batch without its start": (["{one} 2 1 0 ]]"], 1, 1),
    "a batch whose start is repeated": (["{one} 2 0 1 [["], 0, 0),
    "invalid batches": (["nonsense", "{one} 2 0 0 [["], 1, 2),
}
"""Payloads sent between two messages, the batches their sender counts, and the losses."""


@pytest.mark.parametrize(("payloads", "counted", "losses"), DISTURBANCES.values(), ids=DISTURBANCES)
async def test_disturbed_batches_are_only_losses(ends, carrier, caplog, payloads, counted, losses):
    one, other = ends
    await one.send(other, b"before")
    assert await other.received() == b"before"
    before = other.losses
    for payload in payloads:
        carrier.send(other.id, payload.format(one=one.id))
    one.bus._sent[other.id] += counted
    await one.send(other, b"after")
    assert await other.received() == b"after"
    assert other.losses == before + losses
    assert ("the bus dropped" in caplog.text) == ("nonsense" in payloads)


@pytest.mark.parametrize("carrier", ["redis"], indirect=True)
async def test_a_binary_payload_is_only_a_loss(ends, carrier):
    one, other = ends
    before = other.losses
    carrier.send(other.id, b"\xff")
    await one.send(other, b"hello")
    assert await other.received() == b"hello"
    assert other.losses == before + 1


@pytest.mark.parametrize("url_of_bus", ["amqp://ann:secret@host", "redis://ann:secret@[host"])
def test_an_invalid_bus_url_is_refused_without_quoting_it(url, url_of_bus):
    with pytest.raises(ConfigurationError, match="the bus must be a URL") as refused:
        storage_at(url, bus=url_of_bus)
    assert "secret" not in str(refused.value)
    assert refused.value.__cause__ is None


@pytest.mark.parametrize("carrier", ["postgresql"], indirect=True)
async def test_a_large_message_is_sent_in_many_statements(ends, monkeypatch):
    one, other = ends
    execute, sizes = psycopg.AsyncConnection.execute, []

    async def executed(connection, query, params=None, **options):
        if "pg_notify" in str(query):
            sizes.append(sum(map(len, params[1])))
        return await execute(connection, query, params, **options)

    monkeypatch.setattr(psycopg.AsyncConnection, "execute", executed)
    await one.send(other, b"x" * 5_000_000)
    assert await other.received() == b"x" * 5_000_000
    assert max(sizes) <= 1024 * 1024


@pytest.mark.parametrize("carrier", ["postgresql"], indirect=True)
async def test_an_abandoned_message_delays_no_other(ends, monkeypatch):
    one, other = ends
    execute, has_failed = psycopg.AsyncConnection.execute, asyncio.Event()

    async def executed(connection, query, params=None, **options):
        if params and sum(map(len, params[1])) > 10_000:
            has_failed.set()
            raise psycopg.OperationalError("it is too slow")
        return await execute(connection, query, params, **options)

    monkeypatch.setattr(psycopg.AsyncConnection, "execute", executed)
    sending = asyncio.ensure_future(one.send(other, b"x" * 20_000))
    async with asyncio.timeout(60):
        await has_failed.wait()
        sending.cancel()
        await one.send(other, b"hello")
    assert await other.received() == b"hello"


async def test_a_frozen_carrier_is_detected_soon(ends, carrier):
    one, other = ends
    before = other.losses
    with carrier.frozen():
        while True:
            if not other.bus._is_listening.is_set():  # private: the sender alone may fail first
                break
            await asyncio.sleep(0.05)
    await other.lost_more_than(before)
    await one.send(other, b"hello")
    assert await other.received() == b"hello"


async def test_an_unreachable_bus_is_reported_without_its_password(url):
    storage = storage_at(url, bus="redis://ann:secret@127.0.0.1:1/0")
    with pytest.raises(ConfigurationError, match=r"127\.0\.0\.1:1") as refused:
        await storage.start()
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("storage", ["memory:", "sqlite:///agents.db"])
def test_a_bus_requires_a_shared_storage(storage):
    with pytest.raises(ConfigurationError, match="postgresql: storage"):
        storage_at(storage, bus="redis://127.0.0.1")


@pytest.mark.parametrize("carrier", CARRIERS)
async def test_messages_sent_while_the_loop_stalls_are_not_lost(carrier, monkeypatch, caplog):
    url = new_database()
    async with opened(url, bus=CARRIERS[carrier](url).bus) as storage:
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
