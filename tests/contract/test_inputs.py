"""Named inputs, read from messages."""

from __future__ import annotations

import pytest

from a2a_adapters import Data, File, InvalidInputError, NamedInputs, Text

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
