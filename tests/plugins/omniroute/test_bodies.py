"""Valid, invalid and unusual request bodies."""

from __future__ import annotations

import json

import pytest
from hypothesis import strategies as st

from a2a_adapters import Limits, ServerOptions, build_app
from tests.plugins.omniroute.served import asking, body, result, reviewer, serving
from tests.support.bodies import NESTED, check_answers, json_values


async def test_a_dialogue_names_its_speakers():
    messages = [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": ""},
        {"role": "user", "content": "b"},
    ]
    async with serving(reviewer) as http:
        got = await result(http, body("message/send", messages=messages))
    assert got["artifacts"][0]["content"] == "reviewed: System: be brief\nUser: a\nUser: b"


@pytest.mark.parametrize(
    "params",
    [
        {"message": {"content": "x"}},
        {"message": {"role": "user", "content": "x"}},
        {"message": {"role": "user", "parts": [{"kind": "text", "text": "x"}]}},
        {"messages": [{"content": "x"}]},
        {"messages": [{"role": "user", "content": "x"}, {"role": "user", "content": ""}, 3]},
    ],
)
async def test_all_formats_of_messages_are_accepted(params):
    async with serving(reviewer) as http:
        got = await result(http, body("message/send", **params))
    assert got["artifacts"] == [{"type": "text", "content": "reviewed: x"}]


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded"])
async def test_a_body_that_is_not_labelled_as_json_is_refused(http, kind):
    content = json.dumps(asking("x"))
    response = await http.post("/a2a", content=content, headers={"Content-Type": kind})
    assert (response.status_code, response.json()["error"]["code"]) == (400, -32600)
    answered = await http.post("/a2a", content=content)
    assert answered.status_code == 200


async def test_a_body_that_is_too_large_is_refused_in_the_dialect():
    async with serving(options=ServerOptions(limits=Limits(body_bytes=200))) as http:
        response = await http.post("/a2a", json=asking("x" * 1000))
    assert response.status_code == 413
    assert response.json()["error"]["code"] == -32600


params = st.dictionaries(
    st.sampled_from(["skill", "messages", "message", "metadata", "taskId", "id", "x"]), json_values
)


calls = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.just("2.0") | json_values,
        "id": json_values,
        "method": st.sampled_from(["message/send", "message/stream", "tasks/get", "tasks/cancel"])
        | json_values,
        "params": params | json_values,
    },
)


messages = st.lists(st.fixed_dictionaries({"role": json_values, "content": json_values}))


asks = st.fixed_dictionaries(
    {
        "jsonrpc": st.just("2.0"),
        "id": json_values,
        "method": st.sampled_from(["message/send", "message/stream"]),
        "params": st.fixed_dictionaries({"messages": messages}, optional={"metadata": json_values}),
    }
)


def test_wrong_bodies_get_errors():
    def judge(response, _content):
        if response.headers["content-type"].startswith("text/event-stream"):
            assert response.status_code == 200
            return
        answer = response.json()
        assert answer["jsonrpc"] == "2.0"
        assert ("result" in answer) != ("error" in answer)

    def app():
        return build_app(reviewer, dialects=["omniroute"])

    nested = '{"a":' * 300 + "1" + "}" * 300
    check_answers(app, ["/a2a"], calls | asks, judge, always=[NESTED, nested])
