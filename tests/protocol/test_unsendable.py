"""Values that cannot be sent or read."""

from __future__ import annotations

import pytest
from a2a.types import (
    TaskState,
)

from a2a_adapters import (
    AgentRequest,
    Data,
    File,
    InputRequired,
    Output,
    Rejected,
    TaskMetadata,
    Text,
    TextDelta,
    ToolResult,
)
from a2a_adapters.plugin import PROGRESS_EXTENSION
from a2a_adapters.protocol.conversion import from_protocol, struct_to_dict
from a2a_adapters.testing import answer_of, user_message
from tests.runtime.test_robustness import CALLER, runtime_of
from tests.support.requests import V1, call, rpc, serving


def nested(levels):
    value = 1
    for level in range(levels):
        value = {"m": value} if level % 2 else [value]
    return value


@pytest.mark.parametrize("method", ["SendMessage", "SendStreamingMessage"])
@pytest.mark.parametrize("place", ["metadata", "message", "part", "data"])
async def test_values_that_are_nested_too_deeply_are_refused(place, method):
    async def mirror(request: AgentRequest):
        yield Output(request.parts, metadata=request.metadata)

    async def ask(http, levels):
        part = {"data": nested(levels) if place == "data" else 1}
        message = {"messageId": "m", "role": "ROLE_USER", "parts": [part]}
        params = {"message": message}
        holder = {"metadata": params, "message": message, "part": part}.get(place)
        if holder is not None:
            holder["metadata"] = {"deep": nested(levels)}
        return (await http.post("/", json=rpc(method, params))).text

    async with serving(mirror, headers=V1) as http:
        for levels in (40, 60, 90):
            assert "-32602" in await ask(http, levels), levels
        for levels in (200, 300):  # no longer JSON for the parser
            assert "-32700" in await ask(http, levels), levels
        assert "TASK_STATE_COMPLETED" in await ask(http, 25)


@pytest.mark.parametrize(
    "message",
    [
        '{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}],"metadata":{"a":1e400}}',
        '{"messageId":"m","role":"ROLE_USER","parts":[{"data":[{"a":-1e400}]}]}',
        '{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x","metadata":{"a":1e400}}]}',
        '{"messageId":"m","role":"ROLE_USER","parts":[{"data":' + "9" * 400 + "}]}",
    ],
)
async def test_numbers_no_json_can_hold_are_refused(message):
    def anything(request: AgentRequest) -> str:
        return "x"

    async with serving(anything, headers=V1) as http:
        params = f'{{"message":{message}}}'
        body = f'{{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{params}}}'
        answer = (await http.post("/", content=body)).json()
        assert answer["error"]["code"] == -32602
        await http.post("/message:send", content=params)
        assert (await call(http, "ListTasks", {}))["result"]["tasks"] == []


async def test_unpaired_surrogates_and_values_that_are_not_text_do_not_break_the_stream():
    async def halves(text: str):
        yield "ok "
        yield "\ud83d"

    async def number(text: str):
        yield "ok"
        yield TextDelta(5)

    task = await runtime_of(halves).on_message_send(user_message("go"), CALLER)
    assert answer_of(task) == "ok ?"
    task = await runtime_of(number).on_message_send(user_message("go"), CALLER)
    assert task.status.state == TaskState.TASK_STATE_FAILED
    assert answer_of(task) == "ok"


@pytest.mark.parametrize(
    ("said", "sent"),
    [
        ("a\ud83d", Text("a?")),
        ({"k\udcff": ["é\udcff"]}, Data({"k?": ["é?"]})),
        (Output([File(content=b"x", filename="\udcff.txt")]), File(content=b"x", filename="?.txt")),
        (Rejected("no \udcff"), Text("no ?")),
        (InputRequired("who is \udcff?"), Text("who is ??")),
    ],
    ids=["text", "data", "file", "rejection", "question"],
)
async def test_unpaired_surrogates_are_replaced_everywhere(said, sent):
    def halves(text: str):
        return said

    task = await runtime_of(halves).on_message_send(user_message("go"), CALLER)
    parts = task.artifacts[0].parts if task.artifacts else task.status.message.parts
    assert [from_protocol(part) for part in parts] == [sent]


async def test_unpaired_surrogates_are_replaced_in_metadata():
    async def halves(text: str):
        yield TaskMetadata({"from": "\udcff.txt"})
        yield Output(
            [Text("x", "text/\udcff", metadata={"\udcff": 1})],
            name="\udcff.txt",
            description="\udcff",
            metadata={"of": ["\udcff"]},
        )

    task = await runtime_of(halves).on_message_send(user_message("go"), CALLER)
    [artifact] = task.artifacts
    assert (artifact.name, artifact.description) == ("?.txt", "?")
    assert struct_to_dict(artifact.metadata) == {"of": ["?"]}
    assert from_protocol(artifact.parts[0]) == Text("x", "text/?", metadata={"?": 1})
    assert struct_to_dict(task.metadata) == {"from": "?.txt"}


async def test_unpaired_surrogates_of_tools_do_not_break_progress():
    async def tools(text: str):
        yield ToolResult("1", "look", result="\udcff.txt")
        yield "done"

    request = user_message("go")
    request.message.extensions.append(PROGRESS_EXTENSION)
    task = await runtime_of(tools).on_message_send(request, CALLER)
    assert answer_of(task) == "done"


async def test_metadata_that_cannot_be_sent_fails_the_task():
    async def odd(text: str):
        yield TaskMetadata({"x": object()})

    task = await runtime_of(odd).on_message_send(user_message("go"), CALLER)
    assert task.status.state == TaskState.TASK_STATE_FAILED
