"""Remote agents as runnables and as nodes of graphs."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import Annotated

import pytest
from a2a_adapters_langchain import A2ARunnable
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, AIMessageChunk, AnyMessage, HumanMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command
from pydantic import BaseModel

from a2a_adapters import (
    AgentRequest,
    InputRequired,
    RemoteAgent,
    RemoteTaskError,
    TextDelta,
    build_app,
)
from a2a_adapters.testing import running
from tests.plugins.langchain.calling.support import Memory, asks_with_data, booking, words
from tests.support.servers.front import Recording
from tests.support.servers.states import asks_twice, fails


def thread(name):
    return {"configurable": {"thread_id": name}}


def graph_of(checkpointer=None, **nodes):
    """Return a graph that runs the nodes in sequence."""
    builder = StateGraph(MessagesState)
    before = START
    for name, node in nodes.items():
        builder.add_node(name, node)
        builder.add_edge(before, name)
        before = name
    builder.add_edge(before, END)
    return builder.compile(checkpointer=checkpointer)


def saying(text):
    return {"messages": [HumanMessage(text)]}


async def run(graph, given, config, *, is_sync):
    if is_sync:
        return await asyncio.to_thread(graph.invoke, given, config)
    return await graph.ainvoke(given, config)


def question(state):
    (pending,) = state["__interrupt__"]
    return pending.value


def last(state):
    assert "__interrupt__" not in state
    return state["messages"][-1].text


@dataclasses.dataclass
class DataState:
    messages: Annotated[list[AnyMessage], add_messages]


class ModelState(BaseModel):
    messages: Annotated[list[AnyMessage], add_messages]


async def test_inputs_and_outputs_of_a_runnable(serve):
    agent = A2ARunnable(serve(words))
    message = HumanMessage("one two")
    for given in ("one two", message, [message], [("human", "one two")]):
        for said in (agent.invoke(given), await agent.ainvoke(given)):
            assert isinstance(said, AIMessage), given
            assert said.content == "one two", given
        assert [c.content for c in agent.stream(given) if c.content] == ["one", " two"]
        assert [c.content async for c in agent.astream(given) if c.content] == ["one", " two"]
    prompt = ChatPromptTemplate.from_messages([("human", "{x}")])
    assert (prompt | agent | StrOutputParser()).invoke({"x": "one"}) == "one"
    assert (await (prompt | agent | StrOutputParser()).abatch([{"x": "one"}])) == ["one"]
    streamed = (prompt | agent | StrOutputParser()).stream({"x": "one two"})
    assert [text for text in streamed if text] == ["one", " two"]
    for state in (saying("one"), DataState([message]), ModelState(messages=[message])):
        (said,) = (await agent.ainvoke(state))["messages"]
        assert isinstance(said, AIMessage)
        (streamed,) = [chunk async for chunk in agent.astream(state)]
        assert streamed["messages"][0].content == said.content
        assert next(agent.stream(state))["messages"][0].content == said.content
    with pytest.raises((KeyError, ValueError)):
        agent.invoke({"text": "one"})


@pytest.mark.parametrize("state", [MessagesState, DataState, ModelState])
@pytest.mark.parametrize("is_sync", [True, False])
async def test_nodes_of_a_graph(serve, state, is_sync):
    builder = StateGraph(state)
    builder.add_node("words", A2ARunnable(serve(words)))
    builder.add_edge(START, "words")
    for saver in (None, InMemorySaver()):
        graph = builder.compile(checkpointer=saver)
        done = await run(graph, saying("one two"), thread("t"), is_sync=is_sync)
        assert [m.text for m in done["messages"]] == ["one two", "one two"]


@pytest.mark.parametrize("saver", [None, InMemorySaver])
async def test_tokens_of_a_node_are_streamed(serve, saver):
    graph = graph_of(saver() if saver else None, words=A2ARunnable(serve(words)))
    asked = (saying("one two"), thread("t"))
    chunks = [item async for item in graph.astream(*asked, stream_mode="messages")]
    chunks += list(graph.stream(saying("one two"), thread("u"), stream_mode="messages"))
    texts = [m.content for m, _ in chunks if isinstance(m, AIMessageChunk) and m.content]
    assert texts == ["one", " two"] * 2
    assert {about["langgraph_node"] for _, about in chunks} == {"words"}
    events = [e async for e in graph.astream_events(saying("one two"), thread("v"))]
    tokens = [e["data"]["chunk"].content for e in events if e["event"] == "on_chat_model_stream"]
    assert [token for token in tokens if token] == ["one", " two"]


@pytest.mark.parametrize("is_sync", [True, False])
async def test_questions_interrupt_the_graph(serve, is_sync):
    agent = RemoteAgent(serve(booking))
    graph = graph_of(InMemorySaver(), booking=A2ARunnable(agent))
    for name in ("a", "b", "a"):  # a thread continues after its question
        state = await run(graph, saying("trip"), thread(name), is_sync=is_sync)
        assert question(state) == {"question": "Where to?", "agent": agent.name}
        state = await run(graph, Command(resume="Rome"), thread(name), is_sync=is_sync)
        assert question(state)["question"] == "When?"
        state = await run(graph, Command(resume="Monday"), thread(name), is_sync=is_sync)
        assert last(state) == "Booked trip to Rome, Monday."


@pytest.mark.parametrize("streaming", [True, False])
async def test_a_question_is_asked_once(streaming):
    """The interrupt asks it, and the streamed tokens do not contain it."""

    async def drafts(request: AgentRequest):
        yield "A draft."
        answer = yield InputRequired("Is it good?")
        yield f"You said {answer.text}."

    async with running(build_app(drafts)) as url:
        graph = graph_of(InMemorySaver(), node=A2ARunnable(url))
        async with running(build_app(graph)) as served, RemoteAgent(served) as agent:
            conversation = agent.conversation()
            if streaming:
                events = [event async for event in conversation.stream("write")]
                said = "".join(event.text for event in events if isinstance(event, TextDelta))
                assert said == "A draft.\nIs it good?"
            else:
                assert (await conversation.send("write")).text == "A draft.\nIs it good?"
            assert (await conversation.send("yes")).text == "You said yes."


async def test_questions_in_graphs_without_a_checkpointer_are_answers(serve):
    graph = graph_of(booking=A2ARunnable(serve(booking)))
    state = await graph.ainvoke(saying("car"))
    assert last(state) == "Where to?"
    state = await graph.ainvoke({"messages": [*state["messages"], HumanMessage("Rome")]})
    assert last(state) == "Booked car to Rome, today."


@pytest.mark.parametrize("is_sync", [True, False])
async def test_messages_are_sent_once(serve, is_sync):
    front = Recording(asks_twice())
    async with running(front) as url:
        graph = graph_of(InMemorySaver(), agent=A2ARunnable(url))
        state = await run(graph, saying("go"), thread("t"), is_sync=is_sync)
        for reply in ("Rome", "Monday"):
            assert question(state)["question"] in {"Which city?", "When?"}
            state = await run(graph, Command(resume=reply), thread("t"), is_sync=is_sync)
        assert last(state) == "Booked: Monday"
        texts = [message["parts"][0]["text"] for message in front.messages]
        assert texts == ["go", "Rome", "Monday"]
        ids = [(m.get("contextId"), m.get("taskId")) for m in front.messages]
        assert ids[0] == (None, None)
        assert ids[1] == ids[2]


@pytest.mark.parametrize("is_sync", [True, False])
async def test_questions_are_answered_after_a_restart(serve, tmp_path, is_sync):
    url, path = serve(booking), str(tmp_path / "threads.db")

    async def step(given):
        """Run the graph with a new agent object and checkpointer, as a new process does."""
        node = A2ARunnable(RemoteAgent(url))
        if is_sync:
            with SqliteSaver.from_conn_string(path) as saver:
                graph = graph_of(saver, booking=node)
                return await asyncio.to_thread(graph.invoke, given, thread("t"))
        async with AsyncSqliteSaver.from_conn_string(path) as saver:
            return await graph_of(saver, booking=node).ainvoke(given, thread("t"))

    for _ in range(2):
        assert question(await step(saying("trip")))["question"] == "Where to?"
        assert question(await step(Command(resume="Rome")))["question"] == "When?"
        assert last(await step(Command(resume="Monday"))) == "Booked trip to Rome, Monday."


async def test_threads_continue_after_a_restart(serve):
    memory = Memory()
    url, saver = serve(memory.answer), InMemorySaver()
    for turn in range(3):
        graph = graph_of(saver, memory=A2ARunnable(RemoteAgent(url)))
        assert last(await graph.ainvoke(saying("x"), thread("t"))) == f"{turn} x"
    assert len(memory.contexts) == 1


@pytest.mark.parametrize("is_sync", [True, False])
async def test_questions_in_subgraphs(serve, is_sync):
    inner = graph_of(booking=A2ARunnable(serve(booking)))
    graph = graph_of(InMemorySaver(), inner=inner, words=A2ARunnable(serve(words)))
    state = await run(graph, saying("car"), thread("t"), is_sync=is_sync)
    assert question(state)["question"] == "Where to?"
    state = await run(graph, Command(resume="Rome"), thread("t"), is_sync=is_sync)
    assert "Booked car to Rome, today." in last(state)


@pytest.mark.parametrize("is_shared", [True, False], ids=["one-agent", "an-agent-each"])
@pytest.mark.parametrize("is_sync", [True, False])
async def test_concurrent_questions_of_several_nodes(serve, is_sync, is_shared):
    url = serve(booking)
    shared = RemoteAgent(url)
    builder = StateGraph(MessagesState)
    for name in ("one", "two", "three"):
        node = A2ARunnable(shared if is_shared else RemoteAgent(url))
        builder.add_node(name, node)
        builder.add_edge(START, name)
    graph = builder.compile(checkpointer=InMemorySaver())
    state = await run(graph, saying("car"), thread("t"), is_sync=is_sync)
    pending = state["__interrupt__"]
    assert len(pending) == 3
    replies = {each.id: f"city {n}" for n, each in enumerate(pending)}
    state = await run(graph, Command(resume=replies), thread("t"), is_sync=is_sync)
    booked = sorted(m.text for m in state["messages"][1:])
    assert booked == [f"Booked car to city {n}, today." for n in range(3)]


async def test_many_threads_of_one_graph(serve):
    graph = graph_of(InMemorySaver(), booking=A2ARunnable(serve(booking)))

    async def talk(number):
        config, is_sync = thread(number), bool(number % 2)
        for given in (saying(f"car {number}"), Command(resume=f"city {number}")):
            state = await run(graph, given, config, is_sync=is_sync)
        return last(state)

    assert await asyncio.gather(*map(talk, range(20))) == [
        f"Booked car {number} to city {number}, today." for number in range(20)
    ]


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("a", "a[]"),
        ({"choice": "a"}, "[{'choice': 'a'}]"),
        (["a", 1], "[['a', 1]]"),
        (True, "[True]"),
        (None, "[None]"),
        (HumanMessage("b"), "b[]"),
    ],
)
async def test_content_of_questions_and_replies(serve, reply, expected):
    graph = graph_of(InMemorySaver(), agent=A2ARunnable(serve(asks_with_data)))
    asked = question(await graph.ainvoke(saying("go"), thread("t")))
    assert asked["question"].startswith("Which?")
    assert asked["data"] == [{"choice": ["a", "b"]}]
    assert asked["files"][0]["type"] == "image"
    config = thread("t")
    (pending,) = (await graph.aget_state(config)).interrupts
    state = await graph.ainvoke(Command(resume={pending.id: reply}), config)
    assert last(state) == expected


async def test_failures_end_the_node():
    async with running(fails()) as url:
        graph = graph_of(InMemorySaver(), agent=A2ARunnable(url))
        with pytest.raises(RemoteTaskError, match=r"Out of paper\."):
            await graph.ainvoke(saying("go"), thread("t"))


async def test_arguments_tags_and_callbacks_reach_the_agent(serve):
    class Seen(BaseCallbackHandler):
        def __init__(self):
            self.tags = []

        def on_chat_model_start(self, *args, tags=None, **kwargs):
            self.tags.append(tags)

    seen = Seen()
    for saver in (None, InMemorySaver()):
        node = A2ARunnable(serve(words)).bind(stop=["two"])
        node = node.with_config(tags=["remote"], callbacks=[seen])
        graph = graph_of(saver, agent=node)
        assert last(await graph.ainvoke(saying("one two"), thread("t"))) == "one "
        assert last(graph.invoke(saying("one two"), thread("u"))) == "one "
    assert len(seen.tags) == 4
    assert all("remote" in tags for tags in seen.tags)


async def test_calls_from_a_custom_node(serve):
    agent = A2ARunnable(serve(booking))

    async def node(state):
        wish = await agent.ainvoke([state["messages"][-1]])
        return {"messages": [AIMessage(f"Done: {wish.text}")]}

    graph = graph_of(InMemorySaver(), mine=node)
    assert question(await graph.ainvoke(saying("car"), thread("t")))["question"] == "Where to?"
    state = await graph.ainvoke(Command(resume="Rome"), thread("t"))
    assert last(state) == "Done: Booked car to Rome, today."


async def test_closing_a_graph_cancels_the_task():
    ended = asyncio.Event()

    async def agent(request):
        try:
            yield "begun"
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with running(build_app(agent)) as url:
        graph = graph_of(InMemorySaver(), agent=A2ARunnable(url))
        tokens = graph.astream(saying("go"), thread("t"), stream_mode="messages")
        assert (await anext(tokens))[0].content == "begun"
        await tokens.aclose()
        async with asyncio.timeout(60):
            await ended.wait()
