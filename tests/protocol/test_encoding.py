"""The hand-written conversions give the same results as protobuf's own."""

from __future__ import annotations

import pytest
from a2a.types import (
    Message,
    SendMessageRequest,
    SendMessageResponse,
    StreamResponse,
    Task,
    TaskArtifactUpdateEvent,
    TaskStatusUpdateEvent,
)
from a2a.utils.proto_utils import to_stream_response
from a2a_adapters_grpc.serving.services import only_field
from google.protobuf.json_format import MessageToDict, ParseDict, ParseError
from hypothesis import given
from hypothesis import strategies as st

from a2a_adapters.protocol.encoding import (
    artifact_update_to_dict,
    message_to_dict,
    send_to_dict,
    status_update_to_dict,
    task_to_dict,
)
from a2a_adapters.protocol.parsing import parse_event, parse_send

TEXT = st.text(st.characters(codec="utf-8"), max_size=8)
STRUCT = st.dictionaries(TEXT, st.none() | st.booleans() | st.integers(-9, 9) | TEXT, max_size=2)
PART = st.one_of(
    st.fixed_dictionaries({"text": TEXT}, optional={"mediaType": TEXT, "metadata": STRUCT}),
    st.fixed_dictionaries(
        {"data": STRUCT | st.floats(-9, 9) | st.lists(st.integers(-9, 9))},
        optional={"mediaType": TEXT, "metadata": STRUCT},
    ),
    st.fixed_dictionaries({"url": TEXT}, optional={"filename": TEXT, "mediaType": TEXT}),
    st.fixed_dictionaries(
        {"raw": st.sampled_from(["", "AAEC", "/+8="])},
        optional={"mediaType": TEXT, "filename": TEXT, "metadata": STRUCT},
    ),
    st.just({}),
)
PARTS = st.lists(PART, max_size=3)
MESSAGE = st.fixed_dictionaries(
    {},
    optional={
        "messageId": TEXT,
        "contextId": TEXT,
        "taskId": TEXT,
        "role": st.sampled_from(["ROLE_USER", "ROLE_AGENT", "ROLE_UNSPECIFIED"]),
        "parts": PARTS,
        "metadata": STRUCT,
        "extensions": st.lists(TEXT, max_size=2),
        "referenceTaskIds": st.lists(TEXT, max_size=2),
    },
)
STATUS = st.fixed_dictionaries(
    {},
    optional={
        "state": st.sampled_from(["TASK_STATE_WORKING", "TASK_STATE_COMPLETED"]),
        "message": MESSAGE,
        "timestamp": st.sampled_from(["2026-01-01T00:00:00Z", "2026-01-01T00:00:00.123456Z"]),
    },
)
ARTIFACT = st.fixed_dictionaries(
    {},
    optional={
        "artifactId": TEXT,
        "name": TEXT,
        "description": TEXT,
        "parts": PARTS,
        "metadata": STRUCT,
        "extensions": st.lists(TEXT, max_size=2),
    },
)
TASK = st.fixed_dictionaries(
    {},
    optional={
        "id": TEXT,
        "contextId": TEXT,
        "status": STATUS,
        "artifacts": st.lists(ARTIFACT, max_size=2),
        "history": st.lists(MESSAGE, max_size=2),
        "metadata": STRUCT,
    },
)


ARTIFACT_UPDATE = st.fixed_dictionaries(
    {},
    optional={
        "taskId": TEXT,
        "contextId": TEXT,
        "artifact": ARTIFACT,
        "append": st.booleans(),
        "lastChunk": st.booleans(),
        "metadata": STRUCT,
    },
)
STATUS_UPDATE = st.fixed_dictionaries(
    {}, optional={"taskId": TEXT, "contextId": TEXT, "status": STATUS, "metadata": STRUCT}
)


CONVERSIONS = {
    "task": (TASK, Task, task_to_dict),
    "artifact update": (ARTIFACT_UPDATE, TaskArtifactUpdateEvent, artifact_update_to_dict),
    "status update": (STATUS_UPDATE, TaskStatusUpdateEvent, status_update_to_dict),
    "message": (MESSAGE, Message, message_to_dict),
}


@pytest.mark.parametrize("kind", CONVERSIONS)
@given(st.data())
def test_json_is_that_of_protobuf(kind, data):
    contents, make, to_dict = CONVERSIONS[kind]
    message = ParseDict(data.draw(contents), make())
    assert to_dict(message) == MessageToDict(message)


PUSH_CONFIG = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(["tenant", "id", "taskId", "url", "token"], TEXT),
        "authentication": st.fixed_dictionaries({}, optional={"scheme": TEXT, "credentials": TEXT}),
    },
)
CONFIGURATION = {
    "acceptedOutputModes": st.lists(TEXT, max_size=2),
    "historyLength": st.integers(0, 9),
    "returnImmediately": st.booleans(),
    "taskPushNotificationConfig": PUSH_CONFIG,
}


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "message": MESSAGE,
            "configuration": st.fixed_dictionaries({}, optional={**CONFIGURATION, "unknown": TEXT}),
            "unknown": TEXT,
            "metadata": STRUCT,
        },
    )
)
def test_requests(params):
    assert parse_send(params) == ParseDict(params, SendMessageRequest(), ignore_unknown_fields=True)


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "message": MESSAGE,
            "configuration": st.fixed_dictionaries({}, optional=CONFIGURATION),
            "metadata": STRUCT,
            "tenant": TEXT,
        },
    )
)
def test_sent_requests(params):
    request = ParseDict(params, SendMessageRequest())
    expected = MessageToDict(request)
    if not expected.get("configuration"):
        expected.pop("configuration", None)
    assert send_to_dict(request) == expected


@pytest.mark.parametrize(
    "message",
    [
        3,
        {"parts": 3},
        {"parts": [3]},
        {"parts": [{"text": 3}]},
        {"messageId": 3},
        {"role": []},
        {"parts": [{"text": "a", "url": "b"}]},
    ],
)
def test_wrong_requests_are_refused(message):
    with pytest.raises(ParseError):
        parse_send({"message": message})


@pytest.mark.parametrize(
    "configuration",
    [
        3,
        {"acceptedOutputModes": "text/plain"},
        {"acceptedOutputModes": [3]},
        {"returnImmediately": 1},
        {"returnImmediately": []},
        {"taskPushNotificationConfig": 3},
        {"taskPushNotificationConfig": {"url": 3}},
    ],
)
def test_wrong_configurations_are_refused(configuration):
    with pytest.raises(ParseError):
        parse_send({"configuration": configuration})


def test_snake_case_is_understood_too():
    parsed = parse_send({"message": {"message_id": "m", "parts": [{"text": "x"}]}})
    assert parsed.message.message_id == "m"


EVENT = (
    st.fixed_dictionaries({"task": TASK})
    | st.fixed_dictionaries({"artifactUpdate": ARTIFACT_UPDATE})
    | st.fixed_dictionaries({"statusUpdate": STATUS_UPDATE})
    | st.fixed_dictionaries({"message": MESSAGE})
)


@given(EVENT)
def test_events(content):
    found = parse_event(content)
    assert found is None or found == ParseDict(content, StreamResponse())


@given(EVENT)
def test_events_in_protobuf(content):
    whole = ParseDict(content, StreamResponse())
    event = getattr(whole, whole.WhichOneof("payload"))
    assert StreamResponse.FromString(only_field(StreamResponse)(event)) == whole


# The encoded length takes another byte from 128 and from 16384.
@pytest.mark.parametrize("size", [0, 1, 125, 126, 127, 16380, 16381, 3_000_000])
def test_answers_in_protobuf(size):
    text = "x" * size
    write_answer, write_event = only_field(SendMessageResponse), only_field(StreamResponse)
    task, message = Task(id=text), Message(message_id=text)
    for kind, result in (("task", task), ("message", message)):
        expected = SendMessageResponse(**{kind: result}).SerializeToString()
        assert write_answer(result) == expected
        assert write_event(result) == to_stream_response(result).SerializeToString()


TOKEN = {
    "taskId": "t",
    "contextId": "c",
    "artifact": {"artifactId": "a", "parts": [{"text": "word "}]},
    "append": True,
}
FIRST = {
    "id": "t",
    "contextId": "c",
    "status": {"state": "TASK_STATE_WORKING", "timestamp": "2026-02-28T23:59:59.000001Z"},
    "artifacts": [{"artifactId": "a", "name": "answer", "parts": [{"text": ""}]}],
    "history": [{"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hello"}]}],
}


@pytest.mark.parametrize(
    "content",
    [
        {"artifactUpdate": TOKEN},
        {"artifactUpdate": {**TOKEN, "lastChunk": True}},
        {"task": FIRST},
        {"task": {}},
        {"statusUpdate": {"taskId": "t", "status": {}}},
        {"statusUpdate": {"status": {"timestamp": "0001-01-01T00:00:00Z"}}},
    ],
)
def test_frequent_events_are_not_left_to_protobuf(content):
    assert parse_event(content) == ParseDict(content, StreamResponse())


def changes(value, new):
    """Yield copies of an event with one value replaced, or one entry added to a mapping."""
    yield new
    if isinstance(value, dict):
        yield {**value, "metadata": new}
        yield {**value, "more": new}
        for key in value:
            yield from ({**value, key: changed} for changed in changes(value[key], new))
    elif isinstance(value, list):
        yield [*value, new]
        yield from ([changed] for changed in changes(value[0], new))


@pytest.mark.parametrize("event", [{"artifactUpdate": TOKEN}, {"task": FIRST}])
@pytest.mark.parametrize("new", [None, 3, True, "", "x", "\ud800", [], {}, ["x"], {"text": "x"}])
def test_wrong_events_are_left_to_protobuf(event, new):
    for content in changes(event, new):
        found = parse_event(content) if isinstance(content, dict) else None
        assert found is None or found == ParseDict(content, StreamResponse())


@pytest.mark.parametrize(
    "time",
    [
        "2026-01-01T24:00:00Z",
        "2026-01-01T00:00:60Z",
        "2026-02-30T00:00:00Z",
        "2026-01-01T00:00:00.5Z",
        "2026-01-01T00:00:00.123456789Z",
        "2026-01-01T00:00:00+01:00",
        "2026-01-01T00:00:00",
        "0000-01-01T00:00:00Z",
        "\u0662026-01-01T00:00:00Z",
    ],
)
def test_other_times_are_left_to_protobuf(time):
    assert parse_event({"statusUpdate": {"status": {"timestamp": time}}}) is None
