"""`ListTasks` on every storage: unrepresentable values, and many tasks."""

from __future__ import annotations

import asyncio
import base64
import json
from contextlib import asynccontextmanager

import pytest
from a2a.server.context import ServerCallContext
from a2a.types import ListTasksRequest, Task, TaskState, TaskStatus
from a2a.utils.errors import InvalidParamsError
from a2a_adapters_sql import schema as tables
from a2a_adapters_sql.totals import COUNTED
from google.protobuf.timestamp_pb2 import Timestamp

from a2a_adapters import ServerOptions, build_app
from tests.plugins.sql.conftest import before_statements, opened, storage_at
from tests.support.requests import V1, call, client_of

pytestmark = pytest.mark.timeout(5 * 60)

INVALID_PARAMS = -32602


def greet(name: str) -> str:
    """Greet a person."""
    return f"Hello, {name}!"


def token(value):
    return base64.urlsafe_b64encode(value.encode()).decode().rstrip("=")


def cursor(time, task_id):
    return token(json.dumps({"ts": time, "id": task_id}))


HOSTILE = {
    "year-9999": {"statusTimestampAfter": "9999-12-31T23:59:59Z"},
    "year-1": {"statusTimestampAfter": "0001-01-01T00:00:00Z"},
    "late-token": {"pageToken": cursor(10**30, "t")},
    "early-token": {"pageToken": cursor(-(10**30), "t")},
    "deep-token": {"pageToken": token("[" * 100_000)},
    "word": {"pageToken": "???"},
    "state": {"status": 100_000},
}
ODD = {
    "nul": {"pageToken": cursor(5, "a\0b")},
    "surrogate": {"pageToken": token('{"ts": 5, "id": "\\ud800"}')},
    "context": {"contextId": "a\0b"},
}
"""Unusual but valid positions and names."""


@asynccontextmanager
async def serving(url):
    app = build_app(greet, options=ServerOptions(storage=url))
    async with client_of(app, headers=V1) as http:
        yield http, app


async def test_unrepresentable_values_are_invalid_and_not_an_outage(url, caplog):
    async with serving(url) as (http, _):
        for _ in range(4):  # three failures in a row are an outage
            for name, params in HOSTILE.items():
                answer = await call(http, "ListTasks", params)
                assert answer.get("error", {}).get("code") == INVALID_PARAMS, (name, answer)
            for name, params in ODD.items():
                assert (await call(http, "ListTasks", params)).get("result", {}).get(
                    "tasks"
                ) == [], name
        assert (await http.get("/healthz")).json() == {"status": "ready"}
    assert not [record for record in caplog.records if record.exc_info]


LAST = Timestamp(seconds=253_402_300_799)
"""The end of the year 9999."""


async def test_the_store_itself_refuses_unrepresentable_values(database_url):
    storage = storage_at(database_url)
    await storage.start()
    try:
        for _ in range(4):
            request = ListTasksRequest(status_timestamp_after=LAST)
            with pytest.raises(InvalidParamsError):
                await storage.of("agent").tasks.list(request, ServerCallContext())
        assert storage.is_ready
    finally:
        await storage.aclose(1)


async def test_a_task_of_any_time_is_stored(database_url):
    async with opened(database_url) as storage:
        state = TaskState.TASK_STATE_COMPLETED
        task = Task(id="t", context_id="c", status=TaskStatus(state=state, timestamp=LAST))
        await storage.of("agent").accept("", "message-1", b"", task)
        page = await storage.of("agent").tasks.list(ListTasksRequest(), ServerCallContext())
    assert list(page.tasks) == [task]


def rows(count):
    task = Task(id="t", status=TaskStatus(state=TaskState.TASK_STATE_COMPLETED))
    same = {"agent": "agent", "owner": "", "context": "c", "state": 3, "owner_name": b""}
    same |= {"version": 1, "previous": 0, "epoch": 0, "body": task.SerializeToString()}
    return [{**same, "id": f"t{n:09}", "changed": n} for n in range(count)]


async def test_the_total_of_a_long_list_is_counted_in_the_background(database_url):
    count = COUNTED + 50
    async with opened(database_url) as storage:
        async with storage.database.engine.begin() as connection:
            await connection.execute(tables.tasks.insert(), rows(count))
        store = storage.of("agent").tasks

        async def total(**filters):
            request = ListTasksRequest(page_size=2, **filters)
            return (await store.list(request, ServerCallContext())).total_size

        assert await total() in {COUNTED + 1, count}
        async with asyncio.timeout(60):
            while True:
                if await total() == count:
                    break
                await asyncio.sleep(0.05)
        some = Timestamp()
        some.FromNanoseconds(count - 7)
        assert await total(status_timestamp_after=some) == 7
        assert await total(context_id="other") == 0


async def test_a_list_of_one_page_is_not_counted(database_url):
    async with opened(database_url) as storage:
        async with storage.database.engine.begin() as connection:
            await connection.execute(tables.tasks.insert(), rows(3))
        statements = []
        end = before_statements(storage.database, lambda *args: statements.append(args[2]))
        store = storage.of("agent").tasks
        page = await store.list(ListTasksRequest(page_size=3), ServerCallContext())
        assert (len(page.tasks), page.total_size) == (3, 3)
        assert not [statement for statement in statements if "count(" in statement]
        page = await store.list(ListTasksRequest(page_size=2), ServerCallContext())
        assert (len(page.tasks), page.total_size) == (2, 3)
        end()
