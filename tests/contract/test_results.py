"""Results, tool calls and token usage as events."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

import pytest
from pydantic import BaseModel

from a2a_adapters import Data, File, Output, Text, TokenUsage, ToolCall, ToolResult
from a2a_adapters.plugin import ToolCalls, as_output

FILE = File(content=b"x")


class City(BaseModel):
    name: str


@dataclass
class Day:
    day: date


@pytest.mark.parametrize(
    ("value", "output"),
    [
        (None, None),
        ("", None),
        ("<think>hm</think>", None),
        ("<think>hm</think>Rome", Output((Text("Rome"),), name="answer")),
        (FILE, Output((FILE,))),
        ([FILE, Text("Rome")], Output([FILE, Text("Rome")], name="answer")),
        ({"a": 1}, Output((Data({"a": 1}),))),
        ([], Output((Data([]),))),
        (
            City(name="Rome"),
            Output((Data(City(name="Rome"), schema=City.model_json_schema()),)),
        ),
    ],
)
def test_results_of_any_kind_are_artifacts(value, output):
    assert as_output(value) == output


def test_an_artifact_takes_its_name_and_the_schema_of_plain_data():
    schema = {"type": "object"}
    assert as_output("Rome", name="city") == Output((Text("Rome"),), name="city")
    assert as_output({}, schema=schema) == Output((Data({}, schema=schema),))
    output = as_output(Day(date(2026, 1, 2)), schema=schema)
    assert output.parts[0].schema["properties"]["day"]["format"] == "date"


def test_each_tool_call_and_result_is_reported_once():
    calls = ToolCalls({"0": "earlier"})
    assert calls.started("1", "add", '{"a": 1}') == [ToolCall("1", "add", {"a": 1})]
    assert calls.started("1", "add", {}) == []
    assert calls.finished("1", 2) == [ToolResult("1", "add", 2)]
    assert calls.finished("1", 2) == []
    assert calls.finished("0", "x") == [ToolResult("0", "earlier", "x")]
    assert calls.finished("2", "x", name="later") == [ToolResult("2", "later", "x")]
    assert "1" in calls
    assert "2" not in calls


def test_calls_without_an_id_are_all_reported():
    calls = ToolCalls()
    assert calls.started("", "a", None) + calls.started("", "b", None) == [
        ToolCall("", "a"),
        ToolCall("", "b"),
    ]
    assert len(calls.finished("", 1) + calls.finished("", 2)) == 2


def test_the_text_of_a_tools_error_is_not_reported():
    assert ToolCalls().finished("1", "secret", is_error=True) == [
        ToolResult("1", "", None, is_error=True)
    ]


def test_usage_adds_up_and_is_metadata():
    usage = TokenUsage(1, 2, 3) + TokenUsage(10, 20, 30)
    metadata = usage.as_metadata()
    assert metadata == {"usage": {"input_tokens": 11, "output_tokens": 22, "total_tokens": 33}}
    assert TokenUsage.of(metadata) == usage
    assert TokenUsage.of({}) is None
