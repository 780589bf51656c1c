"""Ended and refused tasks are freed."""

from __future__ import annotations

import asyncio
import gc
import json
from contextlib import closing

import httpx
import pytest

from a2a_adapters import (
    PushOptions,
    ServerOptions,
    build_app,
)
from a2a_adapters.testing import running
from tests.security.test_memory import ANN, KIB, TOKENS, echo, limited
from tests.support.processes import PATIENCE
from tests.support.requests import V1, call, say, serving


def all_live_tasks():
    return [each for each in gc.get_objects() if type(each).__name__ == "LiveTask"]


@pytest.fixture
def live_tasks():
    """Returns the live tasks of a test, excluding those left by other tests."""
    gc.collect()
    before = all_live_tasks()
    known = {id(each) for each in before}
    yield lambda: [each for each in all_live_tasks() if id(each) not in known]
    before.clear()


@pytest.fixture
def uncollected(live_tasks):
    """Like `live_tasks`, without the garbage collector: reference counts must free the tasks."""
    gc.disable()
    yield live_tasks
    gc.enable()


async def test_a_message_that_is_refused_keeps_no_task(uncollected):
    options = ServerOptions(push=PushOptions(), authentication=TOKENS)
    async with serving(echo, options=options) as http:
        config = {"taskPushNotificationConfig": {"url": "http://127.0.0.1/"}}
        for _ in range(3):
            message = {**say("x" * KIB), "configuration": config}
            assert (await call(http, "SendMessage", message, ANN))["error"]["code"] == -32602
        assert not uncollected()


async def test_an_answer_that_has_no_room_is_one_line_of_the_log(caplog):
    async def talk(text):
        for _ in range(200):
            yield "x" * KIB

    async with serving(talk, options=limited(running_bytes=100 * KIB)) as http:
        task = (await call(http, "SendMessage", say("x")))["result"]["task"]
    assert task["status"]["state"] == "TASK_STATE_FAILED"
    line = next(record for record in caplog.records if record.levelname == "ERROR")
    assert line.exc_info is None
    assert task["id"] in line.message
    assert "Limits.running_bytes is 102400" in line.message
    said = task["status"]["message"]["parts"][0]["text"]
    assert said.rpartition(" ")[2] in line.message, "the error id"


@pytest.mark.parametrize(
    "running_bytes", [pytest.param(128 * 1024 * KIB, marks=pytest.mark.thorough), 1024 * KIB]
)
async def test_a_reader_that_stops_keeps_no_task_that_has_ended(running_bytes, live_tasks):
    async def talk(text):
        for number in range(40_000):
            yield f"{number:1000}"

    options = limited(subscriber_seconds=0.01, finished_tasks=0, running_bytes=running_bytes)
    app = build_app(talk, options=options)
    async with running(app) as url, httpx.AsyncClient(base_url=url, timeout=PATIENCE) as http:
        body = json.dumps(say("x")).encode()
        reader, writer = await asyncio.open_connection(
            http.base_url.host, http.base_url.port, limit=1024
        )
        head = b"POST /message:stream HTTP/1.1\r\nHost: localhost\r\nA2A-Version: 1.0\r\n"
        with closing(writer):
            writer.write(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
            assert b"200" in await reader.readline()

            async with asyncio.timeout(PATIENCE):
                while (await http.get("/tasks", headers=V1)).json().get("tasks") or live_tasks():
                    pass
