"""`ListTasks` on every storage: values that no database can hold, and many tasks."""

from __future__ import annotations

import base64
import json
from contextlib import asynccontextmanager

import httpx
import pytest
from a2a.server.context import ServerCallContext
from a2a.types import ListTasksRequest, Task, TaskState, TaskStatus
from a2a.utils.errors import InvalidParamsError
from google.protobuf.timestamp_pb2 import Timestamp

from a2a_adapters import ServerOptions, build_app
from a2a_adapters.testing import running
from tests.storage.conftest import storage_at
from tests.storage.test_kill import V1

pytestmark = pytest.mark.timeout(5 * 60)

INVALID_PARAMS = -32602


def greet(name: str) -> str:
    """Greet somebody."""
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
"""What is strange, and yet a position or a name like any other."""


@asynccontextmanager
async def serving(url):
    app = build_app(greet, options=ServerOptions(storage=url))
    async with (
        running(app) as address,
        httpx.AsyncClient(base_url=address, headers=V1, timeout=60) as http,
    ):
        yield http, app


async def listed(http, params):
    call = {"jsonrpc": "2.0", "id": 1, "method": "ListTasks", "params": params}
    response = await http.post("/", json=call)
    assert response.status_code == 200, response.text
    return response.json()


async def test_values_that_cannot_be_compared_are_invalid_and_no_outage(url, caplog):
    async with serving(url) as (http, _):
        for _ in range(4):  # three failures in a row are an outage
            for name, params in HOSTILE.items():
                answer = await listed(http, params)
                assert answer.get("error", {}).get("code") == INVALID_PARAMS, (name, answer)
            for name, params in ODD.items():
                assert (await listed(http, params)).get("result", {}).get("tasks") == [], name
        assert (await http.get("/healthz")).json() == {"status": "ready"}
    assert not [record for record in caplog.records if record.exc_info]


LAST = Timestamp(seconds=253_402_300_799)
"""The end of the year 9999."""


async def test_a_store_alone_refuses_values_that_it_cannot_compare(database_url):
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
    storage = storage_at(database_url)
    await storage.start()
    state = TaskState.TASK_STATE_COMPLETED
    task = Task(id="t", context_id="c", status=TaskStatus(state=state, timestamp=LAST))
    await storage.of("agent").accept("", "message-1", b"", task)
    page = await storage.of("agent").tasks.list(ListTasksRequest(), ServerCallContext())
    await storage.aclose(1)
    assert list(page.tasks) == [task]
