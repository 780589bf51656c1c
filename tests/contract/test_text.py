"""Parts as text and values as JSON."""

from __future__ import annotations

from datetime import date

import pytest
from pydantic import BaseModel, ValidationError

from a2a_adapters import (
    AgentReply,
    Data,
    File,
    RemoteAgent,
    Text,
    as_decision,
    as_json,
    as_text,
    tool_arguments,
)

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
