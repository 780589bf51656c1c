"""Parts converted to the protocol and back, to text and JSON, and to named inputs."""

from __future__ import annotations

import copy
import dataclasses
import math
from datetime import date

import pytest
from a2a.types import Message
from google.protobuf import struct_pb2
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from a2a_adapters import AgentReply, AgentRequest, Data, File, InvalidInputError, RemoteAgent, Text
from a2a_adapters.plugin import NamedInputs, as_decision, as_json, as_text, dialogue, tool_arguments
from a2a_adapters.protocol.conversion import (
    agent_parts,
    from_protocol,
    from_value,
    to_protocol,
    to_value,
)

JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(JSON_VALUES)
def test_json_comes_back_as_it_went(value):
    assert from_value(to_value(value)) == value


@given(st.integers(-(2**53), 2**53))
def test_integers_come_back_as_integers(number):
    assert isinstance(from_value(to_value(number)), int)


@pytest.mark.parametrize(
    "part",
    [
        Text("hello", "text/markdown", metadata={"k": [1, "x"]}),
        File(content=b"", media_type="image/png", filename="a.png"),
        File(url="https://example.org", metadata={"k": None}),
        Data([1, {"a": 2.5}], metadata={"k": True}),
    ],
)
def test_parts_come_back_as_they_went(part):
    assert from_protocol(to_protocol([part])[0]) == part


def test_the_schema_travels_as_metadata():
    [part] = to_protocol([Data(1, schema={"type": "integer"})])
    assert from_protocol(part).metadata == {"json_schema": {"type": "integer"}}


def test_lists_keep_the_order_that_objects_do_not():
    class Guest(BaseModel):
        name: str
        city: str
        age: int

    row = {"zip": 1, "age": 2, "name": 3, "city": 4}
    [part] = to_protocol([Data({"columns": [*row], "row": row}, schema=Guest.model_json_schema())])
    received = from_protocol(part)
    assert received.value["columns"] == ["zip", "age", "name", "city"]
    assert received.value["row"] == row
    assert received.metadata["json_schema"]["required"] == ["name", "city", "age"]


def test_values_that_json_cannot_express():
    assert from_value(to_value(math.nan)) is None
    assert from_value(struct_pb2.Value(number_value=math.inf)) is None
    assert from_value(to_value({"when": {1, 2}})) in ({"when": [1, 2]}, {"when": [2, 1]})
    with pytest.raises(ValueError, match="object"):
        to_value(object())


class Array:
    """Is an array, or a number, as numpy and torch have them."""

    def __init__(self, value):
        self._value = value

    def tolist(self):
        return self._value


def test_arrays_are_lists_and_their_numbers_are_numbers():
    value = {"total": Array(3), "rows": Array([[1, 2], [3, math.nan]])}
    expected = {"total": 3, "rows": [[1, 2], [3, None]]}
    assert from_value(to_value(value)) == expected
    assert as_text([Data(Array(3))]) == "3"
    _, [_, part] = agent_parts([Text("\ud800"), Data(value)])  # with text that has to be repaired
    assert from_value(part.data) == expected


def test_a_file_is_one_of_two():
    for wrong in ({}, {"content": b"", "url": "x"}):
        with pytest.raises(ValueError, match="either"):
            File(**wrong)


def test_the_name_of_a_file_is_its_filename():
    with pytest.warns(DeprecationWarning, match="filename") as caught:
        file = File(content=b"x", name="a.png")
    assert caught[0].filename == __file__
    assert file == File(content=b"x", filename="a.png") == copy.deepcopy(file)
    assert dataclasses.replace(file, content=b"y").filename == "a.png"
    with pytest.warns(DeprecationWarning, match="filename"):
        assert file.name == "a.png"


def test_messages_of_several_speakers_are_one_dialogue():
    image = File(content=b"png", media_type="image/png")
    said = [("User", [Text("Look:"), image, Text("a cat?")]), ("Tool", []), ("Agent", [Data(1)])]
    assert dialogue(said) == [
        Text("User: Look:\na cat?"),
        image,
        Text("Tool: "),
        Text("Agent: "),
        Data(1),
    ]


def test_messages_of_the_user_alone_stay_as_they_are():
    assert dialogue([("User", [Text("a")]), ("User", [Data(1)])]) == [Text("a"), Data(1)]


@pytest.mark.parametrize(
    ("file", "media_type"),
    [
        (File(content=b"", media_type="a/b", filename="c.png"), "a/b"),
        (File(content=b"", filename="c.png"), "image/png"),
        (File(url="http://h/c.pdf"), "application/pdf"),
        (File(content=b""), "application/octet-stream"),
    ],
)
def test_a_media_type_is_guessed_from_the_name(file, media_type):
    assert file.guess_media_type() == media_type


def test_each_conversation_has_a_unique_key():
    def key(owner, context_id, *scope):
        parts = {"parts": [], "message": Message(), "task_id": "t"}
        request = AgentRequest(**parts, owner=owner, context_id=context_id)
        return request.conversation_key(*scope)

    keys = [key("a", "b"), key("", "ab"), key("b", "a"), key("a", "b", "x"), key("x", "b", "a")]
    assert len({*keys}) == len(keys)
    assert key("a", "b", "x") == key("a", "b", "x")


PARTS = [Text("a"), Data({"n": 1}), File(content=b"x", filename="b.csv"), File(url="http://h/c")]


def test_parts_are_text():
    assert as_text(PARTS) == 'a\n{"n":1}\n(A file: b.csv)\n(A file: http://h/c)'
    assert as_text([File(content=b"", media_type="image/png"), File(content=b"")]) == (
        "(A file: image/png)\n(A file: without a name)"
    )
    assert as_text([]) == ""


def test_an_answer_is_text():
    reply = AgentReply(text="a", parts=PARTS)
    assert reply.whole_text == as_text(PARTS)
    assert reply.rest_text == '{"n":1}\n(A file: b.csv)\n(A file: http://h/c)'
    assert AgentReply(text="a", parts=PARTS[:1]).whole_text == "a"
    assert AgentReply(text="").whole_text == ""


class Odd:
    def __repr__(self):
        return "odd"


@pytest.mark.parametrize(
    ("value", "json"),
    [(date(2026, 1, 2), "2026-01-02"), (float("nan"), None), ({"a": (1,)}, {"a": [1]})],
)
def test_values_of_any_kind_are_json(value, json):
    assert as_json(value) == json
    assert "odd" in str(as_json(Odd()))


@pytest.mark.parametrize(
    ("given", "arguments"),
    [
        ('{"a": 1}', {"a": 1}),
        ("{a: 1", "{a: 1"),
        ({"a": (1,)}, {"a": [1]}),
        ("", None),
        (None, None),
    ],
)
def test_tool_arguments_are_json_or_the_models_text(given, arguments):
    assert tool_arguments(given) == arguments


def test_a_field_takes_an_agent_or_its_url():
    class Holder(BaseModel):
        agent: RemoteAgent

    agent = RemoteAgent("http://127.0.0.1:1")
    assert Holder(agent=agent).agent is agent
    assert Holder(agent="http://127.0.0.1:1").model_dump_json() == '{"agent":"http://127.0.0.1:1"}'
    for wrong in ("nowhere", 3):
        with pytest.raises(ValidationError):
            Holder(agent=wrong)


@pytest.mark.parametrize(
    ("text", "decision"),
    [
        ("yes", (True, "")),
        (" *Approved!* ", (True, "")),
        ("LGTM.", (True, "")),
        ("yes, but use Rome", None),
        ("yes\nno", None),
        ("No.", (False, "")),
        ("reject: because it costs too much", (False, "it costs too much")),
        ("no\nuse Rome", (False, "use Rome")),
        ("notify me", None),
        ("?!", None),
        ("", None),
    ],
)
def test_a_reply_is_a_yes_a_no_or_neither(text, decision):
    assert as_decision(text) == decision


USAGE = "Send a data part with: topic (required), tone"
INPUTS = NamedInputs(names=["topic", "tone"], required=["topic"])
OPEN = NamedInputs(names=[], is_open=True, reserved={"id"}, default_text_name="message")


@pytest.mark.parametrize(
    ("inputs", "parts", "text", "values"),
    [
        (INPUTS, [Data({"tone": 1}), Data({"topic": 2})], "", {"tone": 1, "topic": 2}),
        (INPUTS, [], "cats", {"topic": "cats"}),
        (INPUTS, [Data({"topic": "cats"})], " \n", {"topic": "cats"}),
        (NamedInputs(names=["a", "b"]), [Data({"a": 1})], "x", {"a": 1, "b": "x"}),
        (NamedInputs(names=["a", "b"], text_name="b"), [], "x", {"b": "x"}),
        (OPEN, [Data({"a": 1})], "x", {"a": 1, "message": "x"}),
        (INPUTS, [File(content=b""), Text("ignored")], "", {}),
    ],
)
def test_values_are_read_by_name(inputs, parts, text, values):
    assert inputs.read(parts, text) == values


@pytest.mark.parametrize(
    ("inputs", "parts", "text", "error"),
    [
        (INPUTS, [Data([1])], "", f"a data part must be an object. {USAGE}"),
        (INPUTS, [Data({"b": 1, "a": 1})], "", f"unknown: a, b. {USAGE}"),
        (OPEN, [Data({"id": 1})], "", "unknown: id. Send a data part with: any names"),
        (NamedInputs(names=["a", "b"]), [], "x", "text alone is not enough. "),
        (NamedInputs(names=["a"]), [Data({"a": 1})], "x", "none is left for the text. "),
    ],
)
def test_refusals_say_what_to_send(inputs, parts, text, error):
    with pytest.raises(InvalidInputError) as refusal:
        inputs.read(parts, text)
    assert error in str(refusal.value)
    assert str(refusal.value).endswith(inputs.usage)


def test_required_names_need_a_value():
    INPUTS.check_complete({"topic"})
    with pytest.raises(InvalidInputError, match=r"^missing: topic\. Send a data part with: topic"):
        INPUTS.check_complete({"tone"})
