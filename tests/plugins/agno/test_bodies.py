"""Valid, invalid and unusual request bodies."""

from __future__ import annotations

import json

import pytest
from hypothesis import strategies as st

from a2a_adapters import build_app
from tests.plugins.agno.recordings import AGENT
from tests.plugins.agno.served import CALLS, ROOT, call, other, streamed, task_of
from tests.support.bodies import check_answers, json_values


async def test_data_alone_is_also_sent_as_text(http):
    expected = [{"kind": "text", "text": '{"a":1}'}, {"kind": "data", "data": {"a": 1}}]
    answered = await task_of(http, call("DATA"))
    found = await streamed(http, "DATA")
    sent = await http.post("/a2a/message/send", json=call("DATA", agentId="my-agent"))
    assert answered["history"][0]["parts"] == expected
    assert found[-1][1]["history"][0]["parts"] == expected
    assert [p for name, result in found if name == "Message" for p in result["parts"]] == expected
    assert sent.json()["result"]["task"]["history"][-1]["parts"][0] == expected[0]


async def test_files_and_data_in_both_directions(http):
    parts = [
        {"text": "SEEN"},
        {"kind": "file", "file": {"uri": "https://x.example/i.png", "mimeType": "image/png"}},
        {"kind": "file", "file": {"bytes": "YWJj", "name": "a.bin"}},
        {"kind": "data", "data": {"a": 1}},
    ]

    answered = await task_of(http, call("PARTS"))
    found = await streamed(http, "PARTS")
    seen = await task_of(http, call("", parts=[parts[0], parts[3]]), headers={"X-User-ID": "u1"})
    kinds = [part["kind"] for part in answered["history"][0]["parts"]]
    assert kinds == ["text", "data", "file"]
    assert answered["history"][0]["parts"][2]["file"] == {"uri": "https://x.example/i.png"}
    assert [p["kind"] for p in found[-1][1]["history"][0]["parts"]] == kinds
    streamed_kinds = [p["kind"] for n, result in found if n == "Message" for p in result["parts"]]
    assert streamed_kinds == kinds
    assert seen["history"][0]["parts"][0]["text"] == "['Text', 'Data'] u1"


@pytest.mark.parametrize("path", ["/a2a/message/send", "/a2a/agents/my-agent/v1/message:send"])
async def test_another_content_type_is_refused(http, path):
    content = json.dumps(call("x", agentId="my-agent"))
    response = await http.post(path, content=content, headers={"Content-Type": "text/plain"})
    assert response.status_code == 400


parts = st.lists(
    st.dictionaries(st.sampled_from(["kind", "text", "file", "data"]), json_values, max_size=3)
    | json_values,
    max_size=3,
)


messages = st.fixed_dictionaries(
    {"role": st.just("user") | json_values, "parts": parts | json_values},
    optional={
        "agentId": st.just("my-agent") | json_values,
        "messageId": json_values,
        "contextId": json_values,
        "taskId": json_values,
        "metadata": json_values,
    },
)


calls = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0") | json_values, "id": st.text() | json_values},
    optional={
        "method": st.sampled_from(["message/send", "message/stream", "tasks/get", "tasks/cancel"])
        | json_values,
        "params": st.fixed_dictionaries({"message": messages}) | json_values,
    },
)


PATHS = [
    CALLS["send"],
    *ROOT.values(),
    *CALLS.values(),
    f"{AGENT}/v1/tasks:get",
    f"{AGENT}/v1/tasks:cancel",
    AGENT,
]


def test_wrong_bodies_get_errors():
    def judge(response, _content):
        if not response.headers["content-type"].startswith("text/event-stream"):
            answer = response.json()
            assert answer.keys() & {"result", "error", "detail"}

    def app():
        return build_app(other, dialects=["agno"], name="My Agent")

    check_answers(app, PATHS, calls, judge)
