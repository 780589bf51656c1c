"""Recorded requests to OmniRoute, sent to served agents."""

from __future__ import annotations

import json

import pytest

from a2a_adapters import BearerTokens, ServerOptions
from tests.plugins.omniroute.gateways import EXCHANGES
from tests.plugins.omniroute.served import STATES, asking, body, result, serving


async def test_the_content_of_a_task_record(http):
    call = asking("x", skill="smart-routing", metadata={"model": "auto"})
    sent = await result(http, call)
    record = (await result(http, body("tasks/get", taskId=sent["task"]["id"])))["task"]
    recorded = EXCHANGES["tasks/get completed"]["body"]["result"]["task"]
    assert record.keys() == recorded.keys()
    assert record["input"] == call["params"]
    assert record["artifacts"] == sent["artifacts"]
    assert record["metadata"] == {"model": "auto"}
    assert [event["state"] for event in record["events"]] == STATES
    assert all(event.keys() == {"timestamp", "state"} for event in record["events"])


SHAPES = sorted(
    name
    for name, exchange in EXCHANGES.items()
    if exchange.get("request", {}).get("path") == "/a2a"
    and exchange["request"]["method"] == "POST"
    and "SLOW" not in str(exchange["request"]["body"])
)


# Served agents follow the documentation where the actual server differs.
DIFFERENT = {
    "err body null": (400, -32600),  # the actual server crashes
    "tasks/get unknown": (404, -32001),
    "tasks/cancel unknown": (404, -32001),
    "tasks/get completed": (404, -32001),  # its task is unknown here
    "tasks/get by params.id": (404, -32001),
    "tasks/cancel completed": (404, -32001),
    "tasks/get working (message/send)": (404, -32001),
}


NOT_OURS = {"quota skill", "provider-discovery skill", "health-report skill", "stream quota"}


# Failures of the gateway that a served agent does not have.
PROVIDERS = {
    "send unknown model",
    "send empty reply",
    "err upstream 500",
    "err upstream 401",
    "err upstream 429",
    "stream empty reply",
    "stream unknown model",
}


@pytest.mark.parametrize("key", ["none", "bearer"])
async def test_recorded_requests_get_answers_of_the_same_shape(key, subtests):
    tokens = None if key == "none" else BearerTokens({"local-key": "ann"})
    options = ServerOptions(authentication=tokens)
    async with serving(options=options) as http:
        for name in SHAPES:
            with subtests.test(name):
                await compare(http, name, is_open=tokens is None)


async def compare(http, name, *, is_open):
    exchange = EXCHANGES[name]
    sent = exchange["request"]["body"]
    text = sent if isinstance(sent, str) else json.dumps(sent)
    headers = {"Content-Type": "application/json"}
    key = exchange["request"]["headers"].get("Authorization", "").removeprefix("Bearer ")
    is_known = key not in ("", "wrong-key", "wrong")
    headers["Authorization"] = "Bearer local-key" if is_known else "Bearer wrong"
    response = await http.post("/a2a", content=text, headers=headers)
    if "auth" in name:
        if is_open:
            assert response.status_code == 200
            return
        assert response.status_code == exchange["status"] == 400
        wanted = EXCHANGES["err missing auth"]["body"]
        got = response.json()
        assert (got.keys(), got["id"]) == (wanted.keys(), None)
        assert got["error"]["code"] == wanted["error"]["code"] == -32600
        assert got["error"]["message"].startswith("Unauthorized: ")
        return
    if response.headers["content-type"].startswith("text/event-stream"):
        assert name.startswith("stream") or "message/stream" in text
        last = [line for line in response.text.splitlines() if line.startswith("data: ")][-1]
        assert json.loads(last[6:])["params"]["task"]["state"] == "completed"
        return
    got = response.json()
    if name in NOT_OURS:
        assert (response.status_code, got["error"]["code"]) == (404, -32601)
    elif name in PROVIDERS:
        assert got["result"]["task"]["state"] == "completed"
    elif name in DIFFERENT or ("tasks/" in name and "no id" not in name):
        expected = DIFFERENT.get(name, (404, -32001))
        assert (response.status_code, got["error"]["code"]) == expected
    else:
        assert response.status_code == exchange["status"]
        wanted = exchange.get("body") or json.loads(exchange["frames"][0]["tail"])
        assert (got.keys(), got["id"]) == (wanted.keys(), wanted["id"])
        if "error" in wanted:
            assert got["error"]["code"] == wanted["error"]["code"]
        else:
            assert got["result"].keys() == wanted["result"].keys()
            assert got["result"]["task"].keys() == wanted["result"]["task"].keys()
            assert got["result"]["artifacts"][0].keys() == {"type", "content"}
