"""Numbers in data parts are unchanged: 3 is not 3.0."""

from __future__ import annotations

import pytest

from a2a_adapters import Data, InputRequired, Output
from a2a_adapters.plugin import Adapter, AgentDescription
from tests.support.requests import OLD_MESSAGE, V1, rpc, say, serving, sse

VALUE = {"count": 3, "share": 0.5, "list": [1, 2.25, -7], "large": 2**53, "huge": 1e300}


class Counter(Adapter):
    """Answers with numbers: in an artifact, and in the message of a question."""

    def describe(self):
        return AgentDescription(
            name="counter", description="Counts.", input_modes=["application/json", "text/plain"]
        )

    async def stream(self, request):
        yield Output((Data(VALUE),), metadata={"n": 1})
        yield InputRequired("how many?", (Data(VALUE),), metadata={"n": 1}, durable=True)


@pytest.fixture
async def http():
    async with serving(Counter()) as client:
        yield client


def numbers(value):
    """Return the text of every number in a JSON document."""
    match value:
        case bool():
            return []
        case int() | float():
            return [repr(value)]
        case dict():
            return [n for item in value.values() for n in numbers(item)]
        case list():
            return [n for item in value for n in numbers(item)]
    return []


EXPECTED = set(numbers(VALUE)) | {"1"}
DATA = {**say("x")["message"], "parts": [{"data": VALUE, "metadata": {"n": 1}}]}
OLD_DATA = {**OLD_MESSAGE, "parts": [{"kind": "data", "data": VALUE, "metadata": {"n": 1}}]}
PROTO_DATA = {
    "messageId": "m1",
    "role": "ROLE_USER",
    "content": [{"data": {"data": VALUE}, "metadata": {"n": 1}}],
}

CALLS = [
    ("/", rpc("SendMessage", {"message": DATA}), V1),
    ("/", rpc("SendStreamingMessage", {"message": DATA}), V1),
    ("/message:send", {"message": DATA}, V1),
    ("/message:stream", {"message": DATA}, V1),
    ("/", rpc("message/send", {"message": OLD_DATA}), {}),
    ("/", rpc("message/stream", {"message": OLD_DATA}), {}),
    ("/v1/message:send", {"request": PROTO_DATA}, {}),
    ("/v1/message:stream", {"request": PROTO_DATA}, {}),
]


@pytest.mark.parametrize(("path", "body", "headers"), CALLS)
async def test_whole_numbers_stay_whole(http, path, body, headers):
    answer = await http.post(path, json=body, headers=headers)
    is_stream = answer.headers["content-type"].startswith("text/event-stream")
    shown = sse(answer.text) if is_stream else answer.json()
    written = set(numbers(shown))
    assert written >= EXPECTED
    assert written <= EXPECTED


@pytest.mark.parametrize(
    ("path", "body"),
    [("/", rpc("ListTasks", {"includeArtifacts": True})), ("/tasks?includeArtifacts=true", None)],
)
async def test_whole_numbers_of_tasks_that_are_listed(http, path, body):
    await http.post("/message:send", json={"message": DATA}, headers=V1)
    answer = await (http.post(path, json=body, headers=V1) if body else http.get(path, headers=V1))
    shown = answer.json().get("result", answer.json())["tasks"]
    assert EXPECTED <= set(numbers(shown)) <= EXPECTED
