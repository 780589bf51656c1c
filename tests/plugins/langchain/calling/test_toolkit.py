"""Several agents as tools."""

from __future__ import annotations

import pytest
from a2a_adapters_langchain import A2AToolkit

from a2a_adapters import ConfigurationError, Fleet, RemoteAgent, RemoteOptions
from tests.plugins.langchain.calling.support import booking, words


async def test_the_tools_have_the_names_of_the_fleet(serve):
    said, books = serve(words, name="Words"), serve(booking, name="Words")
    kit = A2AToolkit({"one": said, "two": RemoteAgent(books), "three": {"url": said, "wait": 9}})
    for tools in (kit.get_tools(), await kit.aget_tools()):
        assert [tool.name for tool in tools] == ["one", "two", "three"]
        assert [tool.wait for tool in tools] == [None, None, 9]
        assert tools[0].invoke("hello") == "hello"
        assert (await tools[1].ainvoke("hello")).startswith("Where to?")


async def test_agents_that_are_down_are_left_out(serve, caplog):
    gone = RemoteAgent("http://127.0.0.1:9", options=RemoteOptions(retries=0))
    kit = A2AToolkit(Fleet({"gone": gone, "words": serve(words)}, prefix="ask_"))
    assert [tool.name for tool in kit.get_tools()] == ["ask_words"]
    assert "the agent gone is left out" in caplog.text


def test_settings_are_checked():
    with pytest.raises(ConfigurationError, match="the remote agent words: uri: Extra inputs"):
        A2AToolkit({"words": {"url": "http://127.0.0.1:9", "uri": ""}})
