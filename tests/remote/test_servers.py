"""The agents that are not ours do what they say; asked with plain HTTP."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager

import httpx
import pytest

from a2a_adapters.testing import running
from tests.remote.servers import FOREIGN_AGENTS
from tests.remote.servers.cards import CARD_PATH, OLD_CARD_PATH

PING = {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "ping"}]}
OLD_PING = {
    "kind": "message",
    "messageId": "m1",
    "role": "user",
    "parts": [{"kind": "text", "text": "ping"}],
}


V1 = {"A2A-Version": "1.0"}


def calling(app):
    """Return a client of the app that needs no network."""
    transport = httpx.ASGITransport(app)
    return httpx.AsyncClient(transport=transport, base_url="http://agent", headers=V1)


@asynccontextmanager
async def served(app):
    """Yield a client of the app that calls it over the network."""
    async with (
        running(app) as url,
        httpx.AsyncClient(base_url=url, headers=V1, timeout=10) as client,
    ):
        yield client


async def rpc(client, method, **params):
    call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return await client.post("/", json=call)


async def result(client, method, **params):
    return (await rpc(client, method, **params)).json()["result"]


def events(response):
    """Return the results of a stream."""
    lines = response.text.splitlines()
    return [json.loads(line[6:])["result"] for line in lines if line.startswith("data: ")]


def foreign(name):
    return calling(FOREIGN_AGENTS[name]())


async def streamed(name):
    """Return (kind, text) of each event with which the agent answers `ping`."""
    async with foreign(name) as client:
        response = await rpc(client, "SendStreamingMessage", message=PING)
        return [digest(event) for event in events(response)]


async def sent(name):
    """Return what the agent answers `ping` with when it is not to stream."""
    async with foreign(name) as client:
        return await result(client, "SendMessage", message=PING)


def digest(event):
    [(kind, value)] = event.items()
    match kind:
        case "task":
            return kind, [texts(a) for a in value.get("artifacts", [])]
        case "message":
            return kind, texts(value)
        case "artifactUpdate":
            how = "append" if value.get("append") else "set"
            return f"{how}, last" if value.get("lastChunk") else how, texts(value["artifact"])
    state = value["status"]["state"].removeprefix("TASK_STATE_").lower()
    return state, texts(value["status"].get("message", {}))


def texts(value):
    return [part["text"] for part in value.get("parts", []) if "text" in part]


BEGINS = [("task", []), ("working", [])]
CHUNKS = [("set", ["pong"]), ("append", [": pi"])]
SNAPSHOTS = [["pong"], ["pong: pi"], ["pong: ping"]]
PIECES = [["pong"], [": pi"], ["ng"]]
WHOLE = ["pong: ping"]

STREAMS = {
    "message_only": [("message", WHOLE)],
    "final_task_in_stream": [("task", [WHOLE])],
    "status_only": [*BEGINS, ("completed", WHOLE)],
    "artifact_and_status": [*BEGINS, ("set", WHOLE), ("completed", WHOLE)],
    "progress": [
        ("task", []),
        ("working", ["thinking…"]),
        ("working", ["writing…"]),
        ("set", WHOLE),
        ("completed", []),
    ],
    "progress_then_status": [("task", []), ("working", ["thinking…"]), ("completed", WHOLE)],
    "chunks": [*BEGINS, *CHUNKS, ("append, last", ["ng"]), ("completed", [])],
    "chunks_left_open": [*BEGINS, *CHUNKS, ("append", ["ng"]), ("completed", [])],
    "chunks_then_whole": [
        *BEGINS,
        *CHUNKS,
        ("append", ["ng"]),
        ("set, last", WHOLE),
        ("completed", []),
        ("task", [WHOLE]),
    ],
    "snapshots": [*BEGINS, *(("set", each) for each in SNAPSHOTS), ("completed", [])],
    "status_deltas": [("task", []), *(("working", each) for each in PIECES), ("completed", [])],
    "status_deltas_then_whole": [
        ("task", []),
        *(("working", each) for each in PIECES),
        ("completed", WHOLE),
    ],
    "status_snapshots": [
        ("task", []),
        *(("working", each) for each in SNAPSHOTS),
        ("completed", WHOLE),
    ],
    "status_whole": [("task", []), ("working", WHOLE), ("completed", [])],
    "several_parts": [*BEGINS, ("set", ["pong", ": pi", "ng"]), ("completed", [])],
    "mixed_parts": [*BEGINS, ("set", WHOLE), ("set", []), ("set", []), ("completed", [])],
    "stream_ends_working": BEGINS,
    "chunks_without_task": [
        ("working", []),
        *(("append", each) for each in PIECES),
        ("completed", []),
    ],
    "task_then_message": [("task", []), ("working", ["thinking…"]), ("message", WHOLE)],
}


@pytest.mark.parametrize("name", STREAMS)
async def test_streams(name):
    assert await streamed(name) == STREAMS[name]


async def test_an_agent_that_cannot_stream():
    answer = await sent("final_task")
    assert digest(answer) == ("task", [WHOLE])
    async with foreign("final_task") as client:
        card = (await client.get(CARD_PATH)).json()
        refused = (await rpc(client, "SendStreamingMessage", message=PING)).json()
    assert not card["capabilities"]["streaming"]
    assert refused["error"]["code"] == -32004


async def test_text_that_is_in_the_history_only():
    task = (await sent("status_deltas"))["task"]
    assert "artifacts" not in task
    assert "message" not in task["status"]
    assert [texts(message) for message in task["history"]] == [["ping"], *PIECES]


async def test_parts_of_every_kind():
    task = (await sent("mixed_parts"))["task"]
    kinds = [
        [sorted(part.keys() & {"text", "data", "raw", "url"}) for part in artifact["parts"]]
        for artifact in task["artifacts"]
    ]
    assert kinds == [[["text"], ["data"]], [["raw"], ["url"]], [["data"]]]


@pytest.mark.parametrize(
    ("name", "state"), [("submitted", "SUBMITTED"), ("stream_ends_working", "WORKING")]
)
async def test_a_task_that_is_finished_later(name, state):
    async with served(FOREIGN_AGENTS[name]()) as client:
        task = (await result(client, "SendMessage", message=PING))["task"]
        states = [task["status"]["state"]]
        while states[-1] != "TASK_STATE_COMPLETED":
            task = await result(client, "GetTask", id=task["id"])
            states.append(task["status"]["state"])
    assert states[:2] == [f"TASK_STATE_{state}"] * 2
    assert texts(task["artifacts"][0]) == WHOLE


async def test_a_task_that_is_finished_for_a_subscriber():
    async with foreign("stream_ends_working") as client:
        response = await rpc(client, "SendStreamingMessage", message=PING)
        task_id = events(response)[0]["task"]["id"]
        subscribed = events(await rpc(client, "SubscribeToTask", id=task_id))
    assert [digest(event) for event in subscribed] == [
        ("task", []),
        ("set", WHOLE),
        ("completed", []),
    ]


async def test_http_json_alone():
    async with foreign("rest_only") as client:
        card = (await client.get(CARD_PATH)).json()
        answer = (await client.post("/message:send", json={"message": PING})).json()
        assert (await rpc(client, "SendMessage", message=PING)).status_code == 404
    assert [i["protocolBinding"] for i in card["supportedInterfaces"]] == ["HTTP+JSON"]
    assert digest(answer) == ("task", [["pong", ": pi", "ng"]])


async def test_grpc_comes_first():
    async with foreign("grpc_first") as client:
        card = (await client.get(CARD_PATH)).json()
        answer = await result(client, "SendMessage", message=PING)
    assert [i["protocolBinding"] for i in card["supportedInterfaces"]] == ["GRPC", "JSONRPC"]
    assert digest(answer) == ("task", [["pong", ": pi", "ng"]])


async def test_the_card_is_at_the_old_path():
    async with foreign("old_card_path") as client:
        assert (await client.get(CARD_PATH)).status_code == 404
        assert (await client.get(OLD_CARD_PATH)).json()["name"] == "Pong"


@pytest.mark.parametrize("name", ["old_message", "old_task"])
async def test_an_agent_of_0_3_alone(name):
    async with foreign(name) as client:
        card = (await client.get(CARD_PATH)).json()
        unknown = (await rpc(client, "SendMessage", message=PING)).json()
        invalid = (await rpc(client, "message/send", message=PING)).json()
        answer = await result(client, "message/send", message=OLD_PING)
        kinds = [e["kind"] for e in events(await rpc(client, "message/stream", message=OLD_PING))]
    assert card["protocolVersion"] == "0.3.0"
    assert "supportedInterfaces" not in card
    assert unknown["error"]["code"] == -32601
    assert invalid["error"]["code"] == -32602
    if name == "old_message":
        assert texts(answer) == WHOLE
        assert kinds == ["message"]
    else:
        assert texts(answer["artifacts"][0]) == ["pong", ": pi", "ng"]
        assert kinds == ["task", "status-update", *["artifact-update"] * 3, "status-update"]


def test_every_agent_is_tested_here():
    elsewhere = {"final_task", "submitted", "rest_only", "grpc_first", "old_card_path"}
    assert set(FOREIGN_AGENTS) == {*STREAMS, *elsewhere, "old_message", "old_task"}
