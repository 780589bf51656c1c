"""The foreign test agents behave as documented over plain HTTP, and as one when called."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from a2a_adapters import AgentReply, RemoteAgent, RemoteOptions, TextDelta
from a2a_adapters.testing import running
from tests.calling.calls import (
    PING,
    STREAMING,
    call,
    calling,
    digest,
    events,
    result,
    rpc,
    served,
    state,
    texts,
)
from tests.support.servers import FOREIGN_AGENTS
from tests.support.servers.bindings import RPC_PATH
from tests.support.servers.cards import CARD_PATH, OLD_CARD_PATH

OLD_PING = {
    "kind": "message",
    "messageId": "m1",
    "role": "user",
    "parts": [{"kind": "text", "text": "ping"}],
}


def foreign(name):
    return calling(FOREIGN_AGENTS[name]())


async def streamed(name):
    """Return (kind, text) of each event in the agent's answer to `ping`."""
    async with foreign(name) as client:
        response = await rpc(client, STREAMING, message=PING)
        return [digest(event) for event in events(response)]


async def sent(name):
    """Return the agent's answer to `ping` without streaming."""
    async with foreign(name) as client:
        return await result(client, "SendMessage", message=PING)


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
        refused = (await rpc(client, STREAMING, message=PING)).json()
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
    ("name", "unfinished"), [("submitted", "submitted"), ("stream_ends_working", "working")]
)
async def test_a_task_that_is_finished_later(name, unfinished):
    async with served(FOREIGN_AGENTS[name]()) as client:
        task = (await result(client, "SendMessage", message=PING))["task"]
        states = [state(task)]
        while states[-1] != "completed":
            task = await result(client, "GetTask", id=task["id"])
            states.append(state(task))
    assert states[:2] == [unfinished] * 2
    assert texts(task["artifacts"][0]) == WHOLE


async def test_a_task_that_is_finished_for_a_subscriber():
    async with foreign("stream_ends_working") as client:
        response = await rpc(client, STREAMING, message=PING)
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


async def test_the_path_comes_from_the_card():
    async with foreign("rpc_elsewhere") as client:
        [interface] = (await client.get(CARD_PATH)).json()["supportedInterfaces"]
        assert interface["url"].endswith(RPC_PATH)
        answer = await client.post(interface["url"], **call("SendMessage", message=PING))
        assert (await rpc(client, "SendMessage", message=PING)).status_code == 404
    assert digest(answer.json()["result"]) == ("task", [["pong", ": pi", "ng"]])


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


@pytest.mark.thorough
@pytest.mark.timeout(300)
async def test_an_agent_on_the_sdk_of_0_3(sdk_v03_url):
    async with httpx.AsyncClient(base_url=sdk_v03_url, timeout=60) as client:
        card = (await client.get(CARD_PATH)).json()
        answer = await result(client, "message/send", message=OLD_PING)
        kinds = [e["kind"] for e in events(await rpc(client, "message/stream", message=OLD_PING))]
    assert (card["protocolVersion"], card["url"]) == ("0.3.0", f"{sdk_v03_url}/")
    assert answer["status"]["state"] == "completed"
    assert texts(answer["artifacts"][0]) == ["pong", ": ", "ping"]
    assert kinds == ["task", "status-update", *["artifact-update"] * 3, "status-update"]


def test_every_agent_is_tested_here():
    more = "final_task submitted rest_only grpc_first rpc_elsewhere old_card_path"
    assert set(FOREIGN_AGENTS) == {*STREAMS, *more.split(), "old_message", "old_task"}


def test_nothing_of_ours_is_in_them():
    for source in (Path(__file__).parents[1] / "support" / "servers").glob("*.py"):
        assert "a2a_adapters" not in source.read_text(), source


@pytest.fixture(params=FOREIGN_AGENTS, ids=str)
async def agent(request):
    async with running(FOREIGN_AGENTS[request.param]()) as url, RemoteAgent(url) as agent:
        yield agent


async def test_the_answer_comes_whole_and_once(agent):
    reply = await agent.send("ping")
    assert reply.text == "pong: ping"
    assert reply.state == "completed"


async def test_the_stream_has_the_same_content(agent):
    events = [event async for event in agent.stream("ping")]
    assert "".join(e.text for e in events if isinstance(e, TextDelta)) == "pong: ping"
    assert isinstance(events[-1], AgentReply)
    assert events[-1].text == "pong: ping"
    assert sum(isinstance(event, AgentReply) for event in events) == 1


@pytest.mark.parametrize("name", ["status_deltas", "status_deltas_then_whole", "status_snapshots"])
async def test_text_of_statuses_comes_at_once_if_it_is_wanted(name):
    options = RemoteOptions(status_text=True)
    async with (
        running(FOREIGN_AGENTS[name]()) as url,
        RemoteAgent(url, options=options) as agent,
    ):
        *events, reply = [event async for event in agent.stream("ping")]
    assert [event.text for event in events] == ["pong", ": pi", "ng"]
    assert reply.text == "pong: ping"
