"""A real server with an unavailable, full, slow or unreliable database."""

from __future__ import annotations

import asyncio
import logging
import random
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from itertools import pairwise
from types import SimpleNamespace
from uuid import NAMESPACE_OID, uuid5

import grpc
import httpx
import pytest
from a2a.types import Message, Part, Role, SendMessageRequest
from a2a.types.a2a_pb2_grpc import A2AServiceStub
from a2a_adapters_sql.bulk import SqliteBulk
from sqlalchemy import event
from sqlalchemy.exc import OperationalError
from sqlalchemy.util import await_only

from a2a_adapters import InputRequired, ServerOptions, build_app
from a2a_adapters.testing import running
from tests.plugins.sql.conftest import before_statements, new_url
from tests.support.postgresql import new_database_at, server_of_its_own
from tests.support.requests import V1, grpc_port

pytestmark = [pytest.mark.thorough, pytest.mark.timeout(10 * 60)]


LONG = "long " * 2000
"""Larger than the free pages of the file."""


class Agent:
    """Answers at once or after a signal."""

    def __init__(self):
        self.may_go_on = asyncio.Event()
        self.calls = []

    async def answer(self, text: str):
        """Answer."""
        self.calls.append(text)
        yield "begun "
        if text == "wait":
            await self.may_go_on.wait()
            yield LONG
        yield "done"


def sent(text, **configuration):
    parts = [{"text": text}]
    message_id = str(uuid5(NAMESPACE_OID, text))  # the callers are anonymous
    message = {"messageId": message_id, "role": "ROLE_USER", "parts": parts}
    return {"message": message, "configuration": configuration}


@asynccontextmanager
async def serving(agent, url):
    app = build_app(agent.answer, options=ServerOptions(storage=url, grpc_port=0))
    async with (
        running(app) as address,
        httpx.AsyncClient(base_url=address, headers=V1, timeout=60) as http,
        grpc.aio.insecure_channel(f"127.0.0.1:{grpc_port(app)}") as channel,
    ):
        yield http, A2AServiceStub(channel), app.state.agents.storage.database


async def health(http):
    return (await http.get("/healthz")).status_code


async def until_health(http, code):
    async with asyncio.timeout(60):
        while True:
            if await health(http) == code:
                return
            await asyncio.sleep(0.05)


async def state_of(http, task_id):
    return (await http.get(f"/tasks/{task_id}")).json()["status"]["state"]


@contextmanager
def listening(database, listener):
    """Call a listener at every statement."""
    end = before_statements(database, listener)
    try:
        yield
    finally:
        end()


@asynccontextmanager
async def gone(database):
    """Every statement fails as with an unreachable server."""

    def fail(*_):
        raise OperationalError("statement", {}, Exception("the server is gone"))

    with listening(database, fail):
        yield


@asynccontextmanager
async def without_connections(database):
    """All connections are in use."""
    bulk = database.commits.bulk
    async with AsyncExitStack() as taken:
        if isinstance(bulk, SqliteBulk):
            own = await asyncio.to_thread(bulk.engine.connect)
            taken.callback(own.close)
        else:
            await bulk.aclose()  # releases its connection
        pool = database.engine.pool
        for _ in range(pool.size() + pool._max_overflow):
            await taken.enter_async_context(database.engine.connect())
        yield


@asynccontextmanager
async def full(database):
    """The disk is full, simulated by SQLite's page limit."""

    def limit(pages):
        def prepare(connection, *_):
            cursor = connection.cursor()
            cursor.execute(f"PRAGMA max_page_count={pages}")
            cursor.close()

        return prepare

    def fill(connection, *_):
        limit(1)(connection)  # no growth beyond the current size

    engines = database.engine.sync_engine, database.commits.bulk.engine
    for engine in engines:
        event.listen(engine, "checkout", fill)
    yield
    for engine in engines:
        event.remove(engine, "checkout", fill)
        event.listen(engine, "checkout", limit(1_000_000))


OUTAGES = [("sqlite", gone), ("postgresql", gone), ("sqlite", full)]
OUTAGES += [("sqlite", without_connections), ("postgresql", without_connections)]


@pytest.mark.parametrize(("engine", "outage"), OUTAGES)
async def test_an_outage_is_logged_and_loses_nothing(engine, outage, tmp_path, caplog):
    agent = Agent()
    async with serving(agent, new_url(engine, tmp_path)) as (http, stub, database):
        await endured(agent, http, stub, outage(database), caplog)


async def test_a_database_that_is_restarted_comes_back(caplog):
    agent = Agent()
    server = server_of_its_own()

    @asynccontextmanager
    async def restarted():
        await asyncio.to_thread(server.stop)
        yield
        await asyncio.to_thread(server.ensure_postgres_running)

    async with serving(agent, new_database_at(server)) as (http, stub, _):
        await endured(agent, http, stub, restarted(), caplog)
    server.stop()


async def endured(agent, http, stub, outage, caplog):
    """Check responses before, during and after an outage."""
    before = (await http.post("/message:send", json=sent("before"))).json()["task"]
    begun = await http.post("/message:send", json=sent("wait", returnImmediately=True))
    running_task = begun.json()["task"]["id"]
    caplog.clear()
    with caplog.at_level(logging.INFO):
        async with outage:
            agent.may_go_on.set()
            await until_health(http, 503)
            assert (await http.get("/livez")).status_code == 200
            texts = [f"refused {LONG}", *(f"{n} more {LONG}" for n in range(5))]
            version = [("a2a-version", "1.0")]
            over_grpc, *answers = await asyncio.gather(
                stub.SendMessage(grpc_request(f"over grpc {LONG}"), metadata=version),
                *(http.post("/message:send", json=sent(text)) for text in texts),
                return_exceptions=True,
            )
            assert over_grpc.code() is grpc.StatusCode.UNAVAILABLE
            for answer in answers:
                assert answer.status_code == 503, answer.text
                assert int(answer.headers["Retry-After"]) > 0
                assert "traceback" not in answer.text.lower()
            assert "TASK_STATE_COMPLETED" not in (await http.get(f"/tasks/{running_task}")).text
        await until_health(http, 200)
    assert agent.calls == ["before", "wait"]
    records = [each for each in caplog.records if each.name == "a2a_adapters_sql.health"]
    said = [record.getMessage() for record in records]
    changes = [
        words for line in said for words in ("is unavailable", "is available") if words in line
    ]
    # Only changes are logged. A busy machine may cause a second outage.
    assert changes[0] == "is unavailable", said
    assert all(before != after for before, after in pairwise(changes)), said
    async with asyncio.timeout(60):
        while True:
            if await state_of(http, running_task) == "TASK_STATE_COMPLETED":
                break
            await asyncio.sleep(0.05)
    assert await state_of(http, before["id"]) == "TASK_STATE_COMPLETED"
    again = await http.post("/message:send", json=sent(f"refused {LONG}"))
    assert again.json()["task"]["status"]["state"] == "TASK_STATE_COMPLETED"


def grpc_request(text):
    parts = [Part(text=text)]
    message = Message(message_id=f"message-{text}", role=Role.ROLE_USER, parts=parts)
    return SendMessageRequest(message=message)


async def all_answered(http, count):
    answers = await asyncio.gather(
        *(http.post("/message:send", json=sent(f"text {n}")) for n in range(count))
    )
    assert {answer.status_code for answer in answers} == {200}
    tasks = [answer.json()["task"] for answer in answers]
    assert {task["status"]["state"] for task in tasks} == {"TASK_STATE_COMPLETED"}
    found = await asyncio.gather(*(state_of(http, task["id"]) for task in tasks))
    assert set(found) == {"TASK_STATE_COMPLETED"}


async def test_a_slow_database_is_waited_for(database_url):
    agent = Agent()
    async with serving(agent, database_url) as (http, _, database):

        def be_slow(*_):
            await_only(asyncio.sleep(0.2))

        with listening(database, be_slow):
            await all_answered(http, 20)
            assert await health(http) == 200


async def test_a_question_is_sent_once_it_is_stored(database_url):
    asks, is_saving, may_save = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def ask(text: str):
        asks.set()
        yield InputRequired("which?")

    def hold(*_):
        if asks.is_set():
            is_saving.set()
            await_only(may_save.wait())

    async with serving(SimpleNamespace(answer=ask), database_url) as (http, _, database):
        with listening(database, hold):
            sending = asyncio.create_task(
                http.post("/message:send", json=sent("question", returnImmediately=True))
            )
            await is_saving.wait()
            await asyncio.wait([sending], timeout=0.5)
            is_announced = sending.done() and "TASK_STATE_INPUT_REQUIRED" in sending.result().text
            may_save.set()
            await sending
    assert not is_announced


async def test_sporadic_failures_are_retried(database_url):
    agent = Agent()
    chance = random.Random(1)
    async with serving(agent, database_url) as (http, _, database):

        def fail_sometimes(*_):
            if chance.random() < 0.1:
                raise OperationalError("statement", {}, Exception("a hiccup"))

        with listening(database, fail_sometimes):
            for _ in range(5):
                await all_answered(http, 1 + len(agent.calls))
    assert len(agent.calls) == len(set(agent.calls))
