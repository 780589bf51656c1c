"""Logs, metrics and traces of a running server."""

from __future__ import annotations

import asyncio
import json
import logging
import sys

import httpx
import pytest
from a2a.types import CancelTaskRequest, GetTaskRequest, TaskState
from a2a.utils.errors import A2AError, TaskNotFoundError
from opentelemetry import propagate
from prometheus_client import REGISTRY, Counter
from prometheus_client.parser import text_string_to_metric_families

from a2a_adapters import (
    BearerTokens,
    InputRequired,
    InvalidInputError,
    Limits,
    MissingExtraError,
    OutboundPolicy,
    PushOptions,
    ServerOptions,
    build_app,
)
from a2a_adapters.contract.telemetry import Telemetry
from a2a_adapters.observability.logs import JsonFormatter
from a2a_adapters.observability.requests import CURRENT_REQUEST
from a2a_adapters.plugin import installed_plugins
from a2a_adapters.testing import connect, running, send, stream, user_message
from tests.support.processes import PATIENCE, launched
from tests.support.requests import V1, rpc, say, serving
from tests.support.warm import warm

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
TRACEPARENT = f"00-{TRACE}-00f067aa0ba902b7-01"
SECRET = "what nobody may read"


async def echo(text):
    return text


def fail(text):
    raise OSError(SECRET)


@pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
async def test_every_request_is_one_line_with_ids_and_duration(binding, records):
    async with running(build_app(echo)) as url, connect(url, binding=binding, user="ann") as client:
        task = await send(client, user_message(SECRET))
    by_operation = {r.operation: r for r in records("requests") if hasattr(r, "operation")}
    assert set(by_operation) == {"SendStreamingMessage", "GetTask"}
    for record in by_operation.values():
        assert record.task_id == task.id
        assert record.context_id == task.context_id
        assert record.owner == "ann"
        assert record.status == 200
        assert record.duration_ms > 0
        assert task.id in record.getMessage()
    card = next(r for r in records("requests") if not hasattr(r, "operation"))
    assert card.path == "/.well-known/agent-card.json"
    assert len(records("requests")) == 3


async def test_refused_requests_say_why(records):
    async with running(build_app(echo)) as url, connect(url) as client:
        with pytest.raises(TaskNotFoundError):
            await client.get_task(GetTaskRequest(id="nothing"))
        async with httpx.AsyncClient(timeout=60) as http:
            await http.get(f"{url}/no/such/place%0Ahere")
    refused, unknown = records("requests")[1:]
    assert refused.operation == "GetTask"
    assert refused.error == "TaskNotFoundError"
    assert unknown.status == 404
    assert "\n" not in unknown.getMessage()


@pytest.mark.parametrize(("target", "state"), [(echo, "completed"), (fail, "failed")])
async def test_every_task_that_ends_is_one_line(target, state, records, caplog):
    async with running(build_app(target)) as url, connect(url, user="ann") as client:
        task = await send(client, user_message("hello"))
    (line,) = records("tasks")
    assert (line.task_id, line.context_id, line.owner) == (task.id, task.context_id, "ann")
    assert line.state == state
    assert line.duration_ms > 0
    assert f"task {task.id} {state} after" in line.getMessage()


async def test_a_cancelled_task_is_one_line_too(records):
    def ask(text):
        yield InputRequired("Which city?")

    async with running(build_app(ask)) as url, connect(url) as client:
        task = await send(client, user_message("hello"))
        assert records("tasks") == []
        await client.cancel_task(CancelTaskRequest(id=task.id))
    assert [line.state for line in records("tasks")] == ["canceled"]


async def test_content_is_not_logged(records, caplog):
    async with running(build_app(echo)) as url, connect(url) as client:
        await send(client, user_message(SECRET))
    assert SECRET not in caplog.text
    lines = [json.loads(line) for line in caplog.text.splitlines()]
    assert {"requests", "tasks"} <= {line["logger"].rpartition(".")[2] for line in lines}


def test_json_lines_hold_everything_and_stay_lines():
    extra = {"task_id": "a\nb", "odd": object(), "number": float("nan")}
    record = logging.makeLogRecord({"name": "x", "msg": "one\ntwo %s", "args": ("three",)} | extra)
    error = ValueError("bad")
    record.exc_info = (ValueError, error, None)
    text = JsonFormatter().format(record)
    assert "\n" not in text
    line = json.loads(text)
    assert line["message"] == "one\ntwo three"
    assert line["task_id"] == "a\nb"
    assert line["number"] is None
    assert "ValueError: bad" in line["exception"]
    assert line["time"].endswith("+00:00")


@pytest.mark.parametrize("form", ["text", "json"])
def test_the_command_line_shows_the_lines(form, tmp_path, monkeypatch):
    tmp_path.joinpath("agents.py").write_text("def echo(text: str) -> str:\n    return text\n")
    command = warm("-m", "a2a_adapters", "serve", "agents:echo", "--port", "0")
    monkeypatch.chdir(tmp_path)
    with launched([*command, "--log-format", form]) as (server, url):
        content = rpc("SendMessage", say(SECRET))
        answer = httpx.post(url, json=content, headers=V1, timeout=PATIENCE).json()
        server.terminate()
        rest = server.ended()
    task_id = answer["result"]["task"]["id"]
    assert SECRET not in rest
    shown = [line for line in rest.splitlines() if task_id in line]
    assert len(shown) == 2
    if form == "json":
        ended, requested = map(json.loads, shown)
        assert ended["state"] == "completed"
        assert requested["operation"] == "SendMessage"
        assert requested["task_id"] == task_id
        assert all(json.loads(line) for line in rest.splitlines())
    else:
        assert f"task {task_id} completed after" in shown[0]
        assert "POST SendMessage 200 in" in shown[1]


async def figures(url):
    async with httpx.AsyncClient(timeout=60) as http:
        answer = await http.get(f"{url}/metrics")
    assert answer.status_code == 200
    found = {}
    for family in text_string_to_metric_families(answer.text):
        for sample in family.samples:
            labels = [v for k, v in sample.labels.items() if k != "agent"]
            found[sample.name, *labels] = sample.value
    return found


async def eventually(url, name, value):
    async with asyncio.timeout(60):
        while True:
            found = await figures(url)
            if found.get(name) == value:
                return found


async def test_metrics_follow_events():
    gate = asyncio.Event()

    async def agent(text):
        if text == "wait":
            await gate.wait()
        if text == "bad":
            raise InvalidInputError("not that")
        if text == "fail":
            raise OSError
        return text

    push = PushOptions(outbound=OutboundPolicy(allow_private=True))
    options = ServerOptions(metrics=True, push=push)
    async with running(build_app(agent, options=options)) as url, connect(url) as client:
        before = await figures(url)
        assert before["a2a_running",] == before["a2a_queued",] == before["a2a_open_streams",] == 0
        waiting = [
            asyncio.create_task(send(client, user_message("wait", context_id="one")))
            for _ in range(3)
        ]
        during = await eventually(url, ("a2a_open_streams",), 3)
        assert during["a2a_running",] == 1, "one conversation goes one message at a time"
        assert during["a2a_queued",] == 2
        gate.set()
        await asyncio.gather(*waiting)
        for text in ("ok", "bad", "fail"):
            await send(client, user_message(text))
        refused = user_message("on a task that is not there", task_id="nothing")
        with pytest.raises(TaskNotFoundError):
            await stream(client, refused)
        notified = user_message("ok")
        notified.configuration.task_push_notification_config.url = f"{url}/no-such-hook"
        await send(client, notified)
        after = await eventually(url, ("a2a_open_streams",), 0)
        after = await eventually(url, ("a2a_pushes_total", "refused"), 1)
    assert after["a2a_tasks_total", "completed"] == 5
    assert after["a2a_tasks_total", "rejected"] == 1
    assert after["a2a_tasks_total", "failed"] == 1
    assert after["a2a_refusals_total", "TaskNotFoundError"] == 1
    assert after["a2a_run_seconds_count",] == 7
    assert after["a2a_run_seconds_bucket", "+Inf"] == 7
    assert after["a2a_run_seconds_sum",] > 0
    assert after["a2a_running",] == after["a2a_queued",] == 0


async def test_metrics_of_the_default_registry_are_included():
    orders = Counter("orders", "Orders taken.", ["kind"])
    orders.labels("book").inc()
    try:
        async with running(build_app(echo, options=ServerOptions(metrics=True))) as url:
            assert (await figures(url))["orders_total", "book"] == 1
    finally:
        REGISTRY.unregister(orders)


async def test_metrics_are_served_only_if_enabled():
    async with running(build_app(echo)) as url, httpx.AsyncClient(timeout=60) as http:
        assert (await http.get(f"{url}/metrics")).status_code != 200


class Traced:
    """An agent that answers with its trace, on the loop or in a thread."""

    def __init__(self):
        self.seen = []

    def _note(self):
        carrier = {}
        propagate.inject(carrier)
        self.seen.append((carrier.get("traceparent", ""), CURRENT_REQUEST.get()))

    async def on_the_loop(self, text):
        self._note()
        return text

    def in_a_thread(self, text):
        self._note()
        return text


async def call(target, headers):
    options = ServerOptions(trust_traces="all")
    async with serving(target, headers=V1 | headers, options=options) as http:
        answer = await http.post("/", json=rpc("SendMessage", say("hello")))
        return answer.json()["result"]["task"]


async def test_metrics_require_authentication():
    options = ServerOptions(metrics=True, authentication=BearerTokens({"t" * 32: "ann"}))
    app = build_app({"one": echo, "two": echo}, options=options)
    async with running(app) as url, httpx.AsyncClient(timeout=60) as http:
        assert (await http.get(f"{url}/metrics")).status_code == 401
        shown = await http.get(f"{url}/metrics", headers={"Authorization": f"Bearer {'t' * 32}"})
    assert 'a2a_running{agent="one"} 0.0' in shown.text
    assert 'a2a_running{agent="two"} 0.0' in shown.text


async def test_messages_that_find_no_room_are_counted():
    gate = asyncio.Event()

    async def wait(text):
        await gate.wait()
        return text

    options = ServerOptions(metrics=True, limits=Limits(runs=1, queued_runs=0))
    async with running(build_app(wait, options=options)) as url, connect(url) as client:
        first = asyncio.create_task(send(client, user_message("hello")))
        await eventually(url, ("a2a_running",), 1)
        with pytest.raises(A2AError, match="503"):
            await send(client, user_message("hello"))
        gate.set()
        await first
        assert (await figures(url))["a2a_refusals_total", "ServerBusyError"] == 1


async def test_new_messages_are_refused_while_the_loop_is_late(caplog):
    gate = asyncio.Event()

    async def wait(text):
        await gate.wait()
        return text

    # Every delay exceeds it, but only the third one in a row lasts.
    options = ServerOptions(metrics=True, limits=Limits(lag_seconds=1e-9))
    async with (
        running(build_app(wait, options=options)) as url,
        httpx.AsyncClient(base_url=url, timeout=60, headers=V1) as http,
        connect(url) as client,
    ):
        begun = asyncio.create_task(stream(client, user_message("hello")))
        await eventually(url, ("a2a_running",), 1)
        async with asyncio.timeout(60):
            while "Limits.lag_seconds" not in caplog.text:
                assert (await http.get("/healthz")).status_code == 200
        refused = await http.post("/message:send", json=say("hello"))
        assert (refused.status_code, refused.headers["Retry-After"]) == (503, "1")
        assert (await http.get("/livez")).status_code == 200
        found = await figures(url)
        assert found["a2a_loop_lag_seconds",] > 0
        assert found["a2a_refusals_total", "ServerBusyError"] == 1
        gate.set()
        assert (await begun)[-1].status_update.status.state == TaskState.TASK_STATE_COMPLETED
    assert caplog.text.count("Limits.lag_seconds") == 1


def test_figures_need_their_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "a2a_adapters_server.metrics", None)
    with pytest.raises(MissingExtraError, match=r"a2a-adapters\[metrics\]"):
        build_app(echo, options=ServerOptions(metrics=True))


async def test_nothing_of_this_needs_opentelemetry(monkeypatch, records):
    monkeypatch.setattr(installed_plugins(), "telemetry", Telemetry())
    agent = Traced()
    await call(agent.on_the_loop, {"traceparent": TRACEPARENT})
    ((traceparent, record),) = agent.seen
    assert traceparent == ""
    assert record.operation == "SendMessage"
    assert not any(hasattr(line, "trace_id") for line in records("requests"))
