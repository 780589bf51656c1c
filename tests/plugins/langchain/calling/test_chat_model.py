"""A remote agent as a chat model: calls, streams, usage, cancellation."""

from __future__ import annotations

import asyncio
import threading

import pytest
from a2a_adapters_langchain import A2ALLM, A2AChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage
from langchain_core.output_parsers import StrOutputParser

from a2a_adapters import (
    NoAdapterError,
    Progress,
    RemoteAgent,
    RemoteAgentError,
    RemoteConnectionError,
    RemoteOptions,
    RemoteRefusedError,
    RemoteTaskError,
    ToolCall,
    build_app,
)
from a2a_adapters.plugin import remote_llm
from a2a_adapters.testing import running
from tests.plugins.langchain.calling.support import USAGE, words
from tests.support.servers import FOREIGN_AGENTS
from tests.support.servers.states import cancels, crashes, fails, fails_silently, rejects

SENTENCE = "one two three"


async def test_all_call_methods(serve):
    model = A2AChatModel(agent=serve(words))
    whole = [model.invoke(SENTENCE), await model.ainvoke(SENTENCE)]
    whole += [*model.batch([SENTENCE] * 2), *await model.abatch([SENTENCE] * 2)]
    for message in whole:
        assert type(message) is AIMessage
        assert message.content == SENTENCE
        assert message.usage_metadata == USAGE
        assert message.response_metadata["state"] == "completed"
        assert message.response_metadata["model_provider"] == "a2a"
    streams = [list(model.stream(SENTENCE)), [c async for c in model.astream(SENTENCE)]]
    for chunks in streams:
        assert [c.content for c in chunks if c.content] == ["one", " two", " three"]
        message = sum(chunks[1:], chunks[0])
        assert isinstance(message, AIMessageChunk)
        assert message.content == SENTENCE
        assert message.usage_metadata == USAGE
        assert message.response_metadata["context_id"]
        assert [c.chunk_position for c in chunks][-1] == "last"
    contexts = {message.response_metadata["context_id"] for message in whole}
    assert len(contexts) == len(whole), "each call is a conversation of its own"


async def test_astream_events(serve):
    model = A2AChatModel(agent=serve(words))
    events = [event async for event in model.astream_events(SENTENCE)]
    streamed = [e["data"]["chunk"].content for e in events if e["event"] == "on_chat_model_stream"]
    assert [text for text in streamed if text] == ["one", " two", " three"]
    assert events[-1]["data"]["output"].content == SENTENCE
    assert events[-1]["data"]["output"].usage_metadata == USAGE


@pytest.mark.parametrize("model", [A2AChatModel, A2ALLM])
async def test_tokens_arrive_while_the_agent_works(model):
    gate = asyncio.Event()

    async def agent(request):
        yield "first"
        await gate.wait()
        yield " second"

    async with running(build_app(agent)) as url:
        chunks = (model(agent=url) | StrOutputParser()).astream("go")
        assert await anext(chunks) == "first"
        assert not gate.is_set()
        gate.set()
        assert "".join([chunk async for chunk in chunks]) == " second"


def test_tokens_arrive_while_the_agent_works_in_blocking_code(serve):
    gate = threading.Event()

    def agent(request):
        yield "first"
        gate.wait(60)
        yield " second"

    chunks = A2AChatModel(agent=serve(agent)).stream("go")
    assert next(chunks).content == "first"
    assert not gate.is_set()
    gate.set()
    assert "".join(chunk.content for chunk in chunks) == " second"


async def test_closing_a_stream_cancels_the_task():
    cancelled = asyncio.Event()

    async def agent(request):
        try:
            yield "first"
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    async with running(build_app(agent)) as url:
        model = A2AChatModel(agent=url)
        chunks = model.astream("go")
        assert (await anext(chunks)).content == "first"
        await chunks.aclose()
        async with asyncio.timeout(60):
            await cancelled.wait()

        cancelled.clear()
        call = asyncio.create_task(model.ainvoke("go"))
        chunks = model.astream("wait until the other has begun, too")
        await anext(chunks)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await chunks.aclose()
        async with asyncio.timeout(60):
            await cancelled.wait()


def test_closing_a_stream_cancels_the_task_in_blocking_code(serve):
    cancelled = threading.Event()

    async def agent(request):
        try:
            yield "first"
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    chunks = A2AChatModel(agent=serve(agent)).stream("go")
    assert next(chunks).content == "first"
    chunks.close()
    assert cancelled.wait(60)


@pytest.mark.parametrize("name", FOREIGN_AGENTS)
async def test_third_party_agents(name):
    async with running(FOREIGN_AGENTS[name]()) as url:
        card = await RemoteAgent(url).card()
        model = A2AChatModel(agent=RemoteAgent(card))  # which may name other hosts
        assert (await model.ainvoke("ping")).text == "pong: ping"
        chunks = [chunk async for chunk in model.astream("ping")]
        assert sum(chunks[1:], chunks[0]).text == "pong: ping"


@pytest.mark.parametrize(
    ("agent", "state", "reason"),
    [
        (fails, "failed", "Out of paper."),
        (fails_silently, "failed", "no reason"),
        (rejects, "rejected", "Not my job."),
        (cancels, "canceled", "The shop is closed."),
    ],
)
async def test_unfinished_tasks_raise(agent, state, reason):
    async with running(agent()) as url:
        model = A2AChatModel(agent=url)
        with pytest.raises(RemoteTaskError, match=reason) as caught:
            await model.ainvoke("do it")
        assert caught.value.state == state
        assert caught.value.task_id
        with pytest.raises(RemoteTaskError, match=reason):
            [chunk async for chunk in model.astream("do it")]
        with pytest.raises(RemoteTaskError, match=reason):
            await asyncio.to_thread(model.invoke, "do it")


async def test_text_before_a_failure_is_streamed_and_kept():
    async with running(fails()) as url:
        chunks = A2AChatModel(agent=url).astream("do it")
        assert (await anext(chunks)).content == "begun"
        with pytest.raises(RemoteTaskError) as caught:
            await anext(chunks)
    assert caught.value.reply.artifacts[0].parts[0].text == "begun"


async def test_errors_in_place_of_an_answer():
    async with running(crashes()) as url:
        model = A2AChatModel(agent=url)
        with pytest.raises(RemoteAgentError):
            await model.ainvoke("do it")
    nobody = RemoteAgent("http://127.0.0.1:9", options=RemoteOptions(retries=0))
    with pytest.raises(RemoteConnectionError):
        A2AChatModel(agent=nobody).invoke("hello")
    with pytest.raises(ValueError, match="not of the form http"):
        A2AChatModel(agent="ftp://agent")


async def test_progress_is_not_part_of_the_answer(serve):
    async def agent(request):
        yield Progress("thinking")
        yield ToolCall("1", "search", {"q": "x"})
        yield "done"

    agent = RemoteAgent(serve(agent), options=RemoteOptions(progress=True))
    assert (await A2AChatModel(agent=agent).ainvoke("go")).content == "done"


@pytest.mark.parametrize(
    "usage", [None, {}, {"input_tokens": 1}, {"input_tokens": "a"}, "much", [1], True]
)
async def test_missing_usage(serve, usage):
    from a2a_adapters import TaskMetadata

    async def agent(request):
        yield "done"
        yield TaskMetadata({"usage": usage})

    assert (await A2AChatModel(agent=serve(agent)).ainvoke("go")).usage_metadata is None


def test_tools_are_refused():
    model = A2AChatModel(agent="http://127.0.0.1:9")
    with pytest.raises(NotImplementedError, match="A2ATool"):
        model.bind_tools([words])
    assert model.bind_tools([], timeout=5).kwargs == {"timeout": 5}


@pytest.mark.parametrize("nothing", [[], [HumanMessage([])]])
async def test_empty_messages(serve, nothing):
    model = A2AChatModel(agent=serve(words))
    with pytest.raises(RemoteRefusedError):
        await model.ainvoke(nothing)


def test_made_by_the_hook(serve):
    model = remote_llm(serve(words), "langchain")
    assert isinstance(model, A2AChatModel)
    assert model.invoke("hello").content == "hello"
    with pytest.raises(NoAdapterError):
        remote_llm("http://127.0.0.1:9", "nothing")
