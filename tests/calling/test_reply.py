"""Token usage and other metadata of an answer."""

from __future__ import annotations

import pytest

from a2a_adapters import AgentReply, Data, Text, TokenUsage


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
