"""Tolerated answers of agents, and calls to them, in each binding and version of A2A."""

from __future__ import annotations

import json

import pytest
from a2a.types import AgentCapabilities, AgentCard, AgentInterface
from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from a2a_adapters import Data, RemoteAgent, RemoteAnswerError, RemoteRefusedError
from a2a_adapters.testing import running

FORMS = [("JSONRPC", "1.0"), ("HTTP+JSON", "1.0"), ("JSONRPC", "0.3"), ("HTTP+JSON", "0.3")]
ZONELESS = "2026-11-20T10:00:00.123456"
IDS = {"id": "t1", "contextId": "c1"}


def task(binding, version, timestamp):
    """A finished task in this format; its text contains unusual line separators."""
    is_old_rpc = (binding, version) == ("JSONRPC", "0.3")
    state = "completed" if is_old_rpc else "TASK_STATE_COMPLETED"
    text = {"kind": "text", "text": "hi\u2028you"} if is_old_rpc else {"text": "hi\u2028you"}
    value = {"timestamp": timestamp, "n": 3}
    data = {"kind": "data", "data": value} if is_old_rpc else {"data": value}
    if (binding, version) == ("HTTP+JSON", "0.3"):
        data = {"data": {"data": value}}
    found = {
        **IDS,
        "status": {"state": state, "timestamp": timestamp},
        "artifacts": [{"artifactId": "a", "parts": [text, data]}],
    }
    return {"kind": "task", **found} if is_old_rpc else {"task": found}


class Recorded:
    """An agent that gives the same answer to every request, and records the requests."""

    def __init__(self, binding, version, result, *, streams=False, status=200):
        self.form = (binding, version)
        self.result = result
        self.streams = streams
        self.status = status
        self.bodies = []

    async def __call__(self, scope, receive, send):
        app = Starlette(routes=[Route("/{path:path}", self._answer, methods=["GET", "POST"])])
        await app(scope, receive, send)

    async def _answer(self, request):
        body = await request.body()
        self.bodies.append(body)
        result = self.result
        if self.form[0] == "JSONRPC":
            result = {"jsonrpc": "2.0", "id": json.loads(body)["id"], **self._outcome(result)}
        elif request.method == "GET" and "task" in result:
            result = result["task"]
        if self.streams:
            text = f"data: {json.dumps(result, ensure_ascii=False)}\n\n"
            return Response(text, self.status, media_type="text/event-stream")
        return JSONResponse(result, self.status)

    @staticmethod
    def _outcome(result):
        return result if "error" in result else {"result": result}

    def card(self, url):
        binding, version = self.form
        interface = AgentInterface(url=url, protocol_binding=binding, protocol_version=version)
        return AgentCard(
            name="Recorded",
            description="Answers with what was recorded.",
            version="1",
            supported_interfaces=[interface],
            capabilities=AgentCapabilities(streaming=self.streams),
        )


@pytest.mark.parametrize("time", [ZONELESS, "2026-11-20T10:00:00", "2026-11-20 10:00:00.1"])
@pytest.mark.parametrize("streams", [True, False])
@pytest.mark.parametrize(("binding", "version"), FORMS)
async def test_times_without_a_zone_are_taken_as_utc(binding, version, streams, time):
    server = Recorded(binding, version, task(binding, version, time), streams=streams)
    async with running(server) as url, RemoteAgent(server.card(url)) as agent:
        reply = await agent.send("hello")
        assert reply.text == "hi\u2028you"
        assert reply.data == [{"timestamp": time, "n": 3}]
    assert reply.state == "completed"


@pytest.mark.parametrize(("binding", "version"), FORMS)
async def test_a_task_that_is_asked_for_may_lack_the_zone_too(binding, version):
    result = task(binding, version, ZONELESS)
    answer = result.get("task", result) if binding == "JSONRPC" else result
    server = Recorded(binding, version, answer)
    async with running(server) as url, RemoteAgent(server.card(url)) as agent:
        assert (await agent.get_task("t/1 ä")).state == "completed"


@pytest.mark.parametrize(("binding", "version"), FORMS)
async def test_errors_quote_the_invalid_value(binding, version):
    server = Recorded(binding, version, task(binding, version, "yesterday"))
    async with running(server) as url, RemoteAgent(server.card(url)) as agent:
        with pytest.raises(RemoteAnswerError, match=r"not A2A.*(yesterday|timestamp)"):
            await agent.send("hello")


@pytest.mark.parametrize(("binding", "version"), FORMS)
async def test_whole_numbers_are_sent_as_they_are(binding, version):
    server = Recorded(binding, version, task(binding, version, ZONELESS))
    async with running(server) as url, RemoteAgent(server.card(url)) as agent:
        await agent.send([Data({"n": 3, "x": 0.5, "big": 2**40})], metadata={"m": 7})
    sent = server.bodies[-1]
    assert b".0" not in sent.replace(b'"2.0"', b"")
    assert b"0.5" in sent


@pytest.mark.parametrize("streams", [True, False])
@pytest.mark.parametrize(("binding", "version"), FORMS)
async def test_events_of_unknown_kinds_are_logged(binding, version, streams, caplog):
    server = Recorded(binding, version, {"heartbeat": 1}, streams=streams)
    async with running(server) as url, RemoteAgent(server.card(url)) as agent:
        with pytest.raises(RemoteAnswerError):
            await agent.send("hello")
    assert not streams or "unknown kind with fields: heartbeat" in caplog.text


NOT_FOUND = {
    ("JSONRPC", "1.0"): {"error": {"code": -32001, "message": "no such task"}},
    ("JSONRPC", "0.3"): {"error": {"code": -32001, "message": "no such task"}},
    ("HTTP+JSON", "1.0"): {
        "error": {"code": 404, "status": "NOT_FOUND", "message": "no such task", "details": [1]}
    },
    ("HTTP+JSON", "0.3"): {"type": "TaskNotFoundError", "message": "no such task"},
}


@pytest.mark.parametrize("streams", [True, False])
@pytest.mark.parametrize("status", [200, 404])
@pytest.mark.parametrize(("binding", "version"), FORMS)
async def test_refusals_are_read_whatever_the_http_status(binding, version, status, streams):
    refusal = NOT_FOUND[binding, version]
    server = Recorded(binding, version, refusal, streams=streams, status=status)
    async with running(server) as url, RemoteAgent(server.card(url)) as agent:
        with pytest.raises(RemoteRefusedError, match="no such task") as caught:
            await agent.send("hello", task_id="t1", context_id="c1")
    assert caught.value.code == -32001
