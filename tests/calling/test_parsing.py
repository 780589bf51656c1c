"""Parsing of answers: recorded ones that deviate from A2A, their metadata, and split streams."""

from __future__ import annotations

import asyncio
import json
import logging

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from a2a_adapters import (
    AgentReply,
    Data,
    File,
    RemoteAgent,
    RemoteAnswerError,
    RemoteOptions,
    Text,
    TextDelta,
    TokenUsage,
)
from a2a_adapters.calling.json_http import event_data
from a2a_adapters.testing import running
from tests.support.servers.wire import rpc_app, sse

TASK = "1f0c:9a7e"
CONTEXT = "1f0c"
IDS = {"taskId": TASK, "contextId": CONTEXT}
QUESTION = {
    "kind": "message",
    "role": "ROLE_AGENT",
    "parts": [{"kind": "text", "text": "Which city?"}],
    "messageId": "m2",
    **IDS,
}


def task(state, **fields):
    """A task in the format of langgraph-api 0.16."""
    status = {"state": state, "timestamp": "2026-11-20T10:00:00.123456+00:00"}
    return {"kind": "task", "id": TASK, "contextId": CONTEXT, "status": status, **fields}


def status(state, **fields):
    """A status update, which langgraph-api sends without its wrapper, even under 1.0."""
    about = {"state": state, "timestamp": "2026-11-20T10:00:00.123456+00:00", **fields}
    return {**IDS, "kind": "status-update", "status": about, "final": True}


def artifact(*parts):
    found = {"artifactId": "a1", "name": "Assistant Response", "parts": list(parts)}
    chunk = {"artifact": found, "append": False, "lastChunk": True}
    return {**IDS, "kind": "artifact-update", **chunk}


FILE = {"kind": "file", "file": {"bytes": "aGk=", "mimeType": "text/plain", "name": "hi.txt"}}


def streaming(*results):
    """Return an agent that streams these results."""

    async def answer(call):
        async def events():
            for result in results:
                yield call.result(result)

        return sse(events())

    return rpc_app(answer)


async def collect(app, **options):
    remote = RemoteOptions(**options)
    async with running(app) as url, RemoteAgent(url, options=remote) as agent:
        events = [event async for event in agent.stream("hello")]
    return "".join(e.text for e in events if isinstance(e, TextDelta)), events[-1]


async def test_events_are_known_by_their_kind():
    said, reply = await collect(
        streaming(
            {"task": task("TASK_STATE_SUBMITTED")},
            artifact(
                {"kind": "text", "text": "hello, you"}, {"kind": "data", "data": {"n": 3}}, FILE
            ),
            status("TASK_STATE_COMPLETED"),
        )
    )
    assert said == reply.text == "hello, you"
    assert reply.parts[1:] == (
        Data({"n": 3}),
        File(content=b"hi", media_type="text/plain", filename="hi.txt"),
    )
    assert (reply.task_id, reply.context_id, reply.state) == (TASK, CONTEXT, "completed")


async def test_a_question_keeps_its_text():
    asks = status("TASK_STATE_INPUT_REQUIRED", message=QUESTION)
    said, reply = await collect(streaming({"task": task("TASK_STATE_SUBMITTED")}, asks))
    assert said == reply.text == "Which city?"
    assert reply.is_question


def interrupt(*interrupts):
    """The artifact in which langgraph-api 0.16 reports a graph's question."""
    parts = [{"kind": "data", "data": {"id": "i1", **each}} for each in interrupts]
    return {"artifactId": "a2", "name": "Interrupt", "parts": parts}


SCHEMA = {"type": "string", "enum": ["left", "right"]}


@pytest.mark.parametrize(
    ("interrupts", "said", "question"),
    [
        ([{"value": "Which one?"}], None, "Which one?"),
        ([{"value": "Which one?"}], "Task completed successfully", "Which one?"),
        ([{"value": "Which one?"}], "I found two.", "I found two.\nWhich one?"),
        ([{"value": "Which one?"}], "Which one?", "Which one?"),
        ([{"value": "Which?"}, {"value": "Why?"}], None, "Which?\nWhy?"),
        ([{"value": {"delete": ["a", "b"]}}], None, '{"delete":["a","b"]}'),
        ([{"value": "Which?", "response_schema": SCHEMA}], None, "Which?"),
    ],
)
async def test_interrupts_of_a_langgraph_server_are_questions(interrupts, said, question):
    message = {"message": {**QUESTION, "parts": [{"text": said}]}} if said else {}
    artifact = {**IDS, "kind": "artifact-update", "artifact": interrupt(*interrupts)}
    asks = status("TASK_STATE_INPUT_REQUIRED", **message)
    streamed, reply = await collect(
        streaming({"task": task("TASK_STATE_SUBMITTED")}, artifact, asks)
    )
    assert streamed == reply.text == reply.question == question
    schemas = [each["response_schema"] for each in interrupts if "response_schema" in each]
    assert reply.data == [p.value for p in reply.status_parts if isinstance(p, Data)] == schemas
    assert len(reply.artifacts[0].parts) == len(interrupts)


async def test_data_of_other_artifacts_is_not_a_question():
    found = artifact({"kind": "data", "data": {"id": 1, "value": "7"}})
    asks = status("TASK_STATE_INPUT_REQUIRED", message=QUESTION)
    _, reply = await collect(streaming({"task": task("TASK_STATE_SUBMITTED")}, found, asks))
    assert (reply.question, reply.data) == ("Which city?", [{"id": 1, "value": "7"}])


def working(text, number):
    parts = [{"kind": "text", "text": text}]
    message = {**QUESTION, "parts": parts, "messageId": f"w{number}"}
    return {**status("TASK_STATE_WORKING", message=message), "final": False}


@pytest.mark.parametrize(
    ("texts", "final", "said"),
    [
        (["po", "ng"], None, "pong"),
        (["po", "ng", "pong"], "pong", "pong"),
        (["po", "pong", "pong"], "pong", "pong"),
        (["po", "ng"], "pong!", "pong!"),
        (["po", "ng"], "ping", "pong\nping"),
        (["I ", "look", "I look", "po", "ng", "pong"], "pong", "I look\npong"),
        (["I ", "I look", "I look", "po", "pong"], "pong", "I look\npong"),
        (["I ", "I look", "I look", "po", "pong"], None, "I look\npong"),
    ],
)
async def test_texts_of_working_statuses_are_the_answer_as_it_grows(texts, final, said):
    sent = [working(text, number) for number, text in enumerate(texts)]
    ends = [artifact({"kind": "text", "text": final})] if final else []
    results = [{"task": task("TASK_STATE_SUBMITTED")}, *sent, *ends]
    app = streaming(*results, status("TASK_STATE_COMPLETED"))
    streamed, reply = await collect(app, status_text=True)
    assert (streamed, reply.text) == (said, final or said)


async def test_a_question_that_was_streamed_comes_once():
    begun = [{"task": task("TASK_STATE_SUBMITTED")}, working("Which", 1), working(" city?", 2)]
    asks = status("TASK_STATE_INPUT_REQUIRED", message=QUESTION)
    said, reply = await collect(streaming(*begun, asks), status_text=True)
    assert said == reply.text == reply.question == "Which city?"


async def test_states_and_roles_of_0_3_are_understood():
    message = {**QUESTION, "role": "agent"}
    _, reply = await collect(streaming(task("working"), status("input-required", message=message)))
    assert (reply.text, reply.state) == ("Which city?", "input-required")


async def test_the_agents_text_takes_precedence_over_a_status_in_words():
    said = [
        {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "hello"}]},
        {"messageId": "m2", "role": "ROLE_AGENT", "parts": [{"kind": "text", "text": "hi there"}]},
    ]
    done = task("TASK_STATE_COMPLETED", history=said)
    words = [{"kind": "text", "text": "Task completed successfully"}]
    done["status"]["message"] = {"messageId": "m3", "role": "ROLE_AGENT", "parts": words}
    text, reply = await collect(streaming({"task": done}))
    assert text == reply.text == "hi there"


async def test_a_statuss_text_is_the_answer_if_there_is_no_other():
    done = task("TASK_STATE_COMPLETED")
    words = [{"kind": "text", "text": "Task completed successfully"}]
    done["status"]["message"] = {"messageId": "m3", "role": "ROLE_AGENT", "parts": words}
    assert (await collect(streaming({"task": done})))[1].text == "Task completed successfully"


async def test_unknown_events_are_logged(caplog):
    with caplog.at_level(logging.WARNING):
        _, reply = await collect(
            streaming(
                {"task": task("TASK_STATE_WORKING")},
                {"heartbeat": 1},
                artifact({"text": "hello"}),
                status("TASK_STATE_COMPLETED"),
            )
        )
    assert reply.text == "hello"
    assert "unknown kind with fields: heartbeat" in caplog.text


async def test_an_answer_without_a_known_event_is_an_error():
    with pytest.raises(RemoteAnswerError, match="contains no A2A event"):
        await collect(streaming({"heartbeat": 1}, {"kind": 7}))


async def test_errors_quote_the_invalid_value():
    at = {"state": "TASK_STATE_COMPLETED", "timestamp": "yesterday"}
    odd = {"task": {"id": TASK, "contextId": CONTEXT, "status": at}}
    with pytest.raises(RemoteAnswerError, match=r"valid timezone offset.*task\.status\.timestamp"):
        await collect(streaming(odd))


@pytest.mark.parametrize(
    ("reported", "usage"),
    [
        ({"input_tokens": 3, "output_tokens": 4, "total_tokens": 8}, TokenUsage(3, 4, 8)),
        ({"input_tokens": 3, "output_tokens": 4}, TokenUsage(3, 4, 7)),
        ({"input_tokens": 3, "output_tokens": 4, "total_tokens": "9"}, TokenUsage(3, 4, 7)),
        ({"input_tokens": "3", "output_tokens": 4}, None),
        (7, None),
        (None, None),
    ],
)
def test_the_tokens_it_took(reported, usage):
    assert AgentReply(text="", metadata={"usage": reported}).usage == usage


def test_data_as_text():
    parts = [Text("see"), Data({"a": [1, "ä"]}), Data(None)]
    assert AgentReply(text="see", parts=parts).data_text == '{"a":[1,"ä"]}\nnull'
    assert AgentReply(text="see").data_text == ""


EVENTS = [{"n": 1}, {"text": "a\u2028b\u2029c\u0085d \U0001f600"}, ["x\ny"]]


def written(line_end):
    lines = [": keep-alive", ""]
    for event in EVENTS:
        first, comma, rest = json.dumps(event, ensure_ascii=False).partition(",")
        lines += ["event: message", "id: 1", f"data: {first}{comma}", f"data:{rest}", ""]
    return (line_end.join([*lines, "data: cut off"])).encode()


async def pieces(body, cuts):
    ends = sorted({min(cut, len(body)) for cut in cuts} | {len(body)})
    for begin, end in zip([0, *ends], ends, strict=False):
        yield body[begin:end]


@given(
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.lists(st.integers(0, 400), max_size=40),
)
@example("\r", [164])  # just after the line that ends the last event
def test_events_survive_every_cut(line_end, cuts):
    async def read():
        chunks = pieces(written(line_end), cuts)
        return [json.loads(data) async for data in event_data(chunks)]

    assert asyncio.run(read()) == EVENTS


@given(st.lists(st.integers(0, 4), max_size=4))
def test_a_byte_order_mark_is_not_part_of_the_first_line(cuts):
    async def read():
        return [data async for data in event_data(pieces(b"\xef\xbb\xbfdata: 1\n\n", cuts))]

    assert asyncio.run(read()) == [b"1"]
