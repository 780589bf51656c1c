"""Recorded requests of Agno's clients, sent to served agents."""

from __future__ import annotations

import json
import re

import pytest

from tests.plugins.agno.recordings import AGENT, GO, V2, V3
from tests.plugins.agno.served import ROOT, call, events, serving


async def test_agnos_client_in_json_rpc_mode(http):
    """In this mode it posts everything to the agent's URL."""
    for address in (AGENT, f"{AGENT}/"):
        sent = await http.post(address, json=call("x"))
        assert sent.json()["result"]["history"][0]["parts"][0]["text"] == "worked on x "
        stream = await http.post(address, json=call("x", "message/stream"))
        assert events(stream)[-1][0] == "Task"


RECORDED = {
    **{f"3.1.10 {name}": exchange for name, exchange in V3.items()},
    **{f"2.9.0 {name}": exchange for name, exchange in V2.items()},
}


OTHERWISE = {
    "send empty parts": 400,  # a message without any content
    "send bad json": 400,  # Agno crashes
    "send team": 404,
    "tasks:cancel unknown": 404,  # Agno accepts any id
    "tasks:cancel completed": 404,
    "tasks:cancel running": 404,
    "tasks:get after done": 404,  # Agno's tasks are unknown here
    "tasks:get while running": 404,
    "tasks:get completed": 404,
    "tasks:get after cancel": 404,
    "LEGACY route on current version": 200,
    "LEGACY send team id in agentId": 404,
    "LEGACY model error": 500,  # as in Agno-Go
    "POST /a2a/agents/my-agent (standard A2A url)": 200,
}


async def test_recorded_requests_of_python_clients_are_answered(http, subtests):
    for name, exchange in RECORDED.items():
        request = exchange.get("request", {})
        if request.get("method") != "POST" or "/teams/" in request["path"]:
            continue
        with subtests.test(name):
            body = request["body"]
            content = body if isinstance(body, str) else json.dumps(body)
            response = await http.post(request["path"], content=content, headers=request["headers"])
            short = name.split(" ", 1)[1]
            assert response.status_code == OTHERWISE.get(short, exchange["status"])
            if response.status_code >= 400:
                assert response.json().keys() in ({"detail"}, {"jsonrpc", "id", "error"})
            elif not response.headers["content-type"].startswith("text/event-stream"):
                assert response.json()["id"] == body["id"]
                assert "result" in response.json()
            else:
                assert "data: " in response.text


LENIENT = {
    "err int id",
    "err part without kind",
    "err empty text",
    "err no messageId",
    "send A2A v0.3 data part (data is the object)",
}


GO_POSTS = sorted(
    name
    for name, exchange in GO.items()
    if exchange["request"]["method"] == "POST" and exchange["request"]["path"] in ROOT.values()
)


@pytest.mark.parametrize("name", GO_POSTS)
async def test_recorded_requests_of_agno_go_are_answered(http, name):
    exchange = GO[name]
    body = exchange["request"]["body"]
    content = body if isinstance(body, str) else json.dumps(body)
    response = await http.post(exchange["request"]["path"], content=content)
    if name in LENIENT:
        assert response.status_code == 200
        return
    assert response.status_code == exchange["status"]
    if "body" not in exchange:
        [(kind, data)] = events(response)
        wanted = exchange["body_text"].removeprefix("event: ").split("\ndata: ")
        assert (kind, data.keys()) == (wanted[0], json.loads(wanted[1]).keys())
        return
    got, wanted = response.json(), exchange["body"]
    assert (got.keys(), got["id"]) == (wanted.keys(), wanted["id"])
    if "error" in wanted:
        assert got["error"]["code"] == wanted["error"]["code"]
        return
    ours, theirs = got["result"]["task"], wanted["result"]["task"]
    assert ours.keys() == theirs.keys()
    assert ours["status"] == "completed"
    assert [m["role"] for m in ours["history"]] == ["user", "agent"]
    assert ours["history"][1].keys() == theirs["history"][1].keys()
    assert re.fullmatch(r"[\d-]+T[\d:]+Z", ours["history"][1]["timestamp"])


async def test_data_of_agno_go_comes_out_of_its_envelope():
    data = {"content": '{"k": "v"}', "mimeType": "application/json"}
    parts = [{"kind": "text", "text": "a"}, {"kind": "data", "data": data}]

    async def show(request):
        yield str([part.value for part in request.parts[1:]])

    async with serving(show) as http:
        sent = await http.post(ROOT["send"], json=call("", agentId="my-agent", parts=parts))
    assert sent.json()["result"]["task"]["history"][1]["parts"][0]["text"] == "[{'k': 'v'}]"
