"""A remote agent as an LLM."""

from __future__ import annotations

import pytest
from a2a_adapters_langchain import A2ALLM
from langchain_core.messages import HumanMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import PromptTemplate

from a2a_adapters import RemoteAgent, RemoteTaskError
from a2a_adapters.testing import running
from tests.plugins.langchain.calling.support import USAGE, Memory, booking, words
from tests.support.servers import FOREIGN_AGENTS
from tests.support.servers.states import fails


async def test_all_call_methods(serve):
    llm = A2ALLM(agent=serve(words))
    assert [llm.invoke("one two"), await llm.ainvoke("one two")] == ["one two"] * 2
    assert llm("one two") == "one two"
    assert llm.batch(["a b", "c"]) == await llm.abatch(["a b", "c"]) == ["a b", "c"]
    assert [text for text in llm.stream("one two") if text] == ["one", " two"]
    assert [text async for text in llm.astream("one two") if text] == ["one", " two"]
    assert "one two" in llm.invoke([HumanMessage("one two")])
    chain = PromptTemplate.from_template("{x} two") | llm | StrOutputParser()
    assert [text for text in chain.stream({"x": "one"}) if text] == ["one", " two"]


async def test_several_prompts_and_their_generation_info(serve):
    llm = A2ALLM(agent=serve(words))
    for result in (llm.generate(["a", "b"]), await llm.agenerate(["a", "b"])):
        assert [generation[0].text for generation in result.generations] == ["a", "b"]
        for (generation,) in result.generations:
            assert generation.generation_info["state"] == "completed"
            assert generation.generation_info["context_id"]
            assert generation.generation_info["metadata"]["usage"] == USAGE


async def test_astream_events(serve):
    events = [event async for event in A2ALLM(agent=serve(words)).astream_events("one two")]
    streamed = [e["data"]["chunk"] for e in events if e["event"] == "on_llm_stream"]
    assert [text for text in streamed if text] == ["one", " two"]
    assert events[-1]["data"]["output"]["generations"][0][0]["text"] == "one two"


async def test_threads_and_questions(serve):
    memory = Memory()
    llm = A2ALLM(agent=serve(memory.answer))
    config = {"configurable": {"thread_id": "t"}}
    assert [llm.invoke("x", config), await llm.ainvoke("x", config)] == ["0 x", "1 x"]
    assert "".join(llm.stream("x", config)) == "2 x"
    assert llm.batch(["y", "z"], [config, None]) == ["3 y", "0 z"]
    llm = A2ALLM(agent=serve(booking))
    assert [llm.invoke(text, config) for text in ("trip", "Rome", "now")] == [
        "Where to?",
        "When?",
        "Booked trip to Rome, now.",
    ]


@pytest.mark.thorough
@pytest.mark.parametrize("name", FOREIGN_AGENTS)
async def test_third_party_agents(name):
    async with running(FOREIGN_AGENTS[name]()) as url:
        llm = A2ALLM(agent=RemoteAgent(await RemoteAgent(url).card()))
        assert await llm.ainvoke("ping") == "pong: ping"
        assert "".join([chunk async for chunk in llm.astream("ping")]) == "pong: ping"


async def test_a_task_that_fails():
    async with running(fails()) as url:
        with pytest.raises(RemoteTaskError, match=r"Out of paper\."):
            await A2ALLM(agent=url).ainvoke("go")
