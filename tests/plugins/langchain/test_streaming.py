from __future__ import annotations

import asyncio
from typing import Literal

import pytest
from a2a_adapters_langchain import adapt
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, HumanInTheLoopMiddleware
from langchain.tools import ToolRuntime
from langchain_core.language_models import FakeListChatModel, FakeStreamingListLLM
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import ConfigurableField, RunnableGenerator, RunnableLambda
from langchain_core.tools import tool
from langgraph.func import entrypoint, task
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command
from typing_extensions import TypedDict

from a2a_adapters import Data, Output, TargetError, Text, TextDelta
from tests.plugins.langchain.support import (
    Scripted,
    Whole,
    answer,
    ask,
    call,
    calling,
    deltas,
    only,
    request,
)

WORDS = ["one", " two", " three"]


class Joke(TypedDict):
    topic: str
    joke: str


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def speaker(*lines, gate=None):
    """Return a node that answers with the next line of the script."""
    model = Scripted(script=list(lines), gate=gate)

    async def speak(state):
        return {"messages": [await model.ainvoke(state["messages"])]}

    return speak


def line(*nodes):
    """Return a graph that runs these nodes in sequence."""
    builder = StateGraph(MessagesState)
    builder.add_sequence(nodes)
    builder.add_edge(START, nodes[0][0])
    builder.add_edge(nodes[-1][0], END)
    return builder


async def shout(chunks):
    async for chunk in chunks:
        yield chunk.upper()


MODEL = Scripted(script=["one two three"])
CHAIN = ChatPromptTemplate.from_template("{x}") | MODEL | StrOutputParser()


@pytest.mark.parametrize(
    "runnable",
    [
        MODEL,
        MODEL.bind(stop=["."]),
        MODEL.with_retry(),
        MODEL.with_fallbacks([MODEL]),
        CHAIN,
        RunnableLambda(lambda _: MODEL),
        create_agent(MODEL, tools=[]),
    ],
)
async def test_tokens_are_streamed_once(runnable):
    events = await ask(adapt(runnable), "hi")
    assert deltas(events) == WORDS
    assert not [event for event in events if isinstance(event, Output)]


async def test_generators_and_llms_stream():
    assert deltas(await ask(adapt(CHAIN | RunnableGenerator(shout)), "hi")) == [
        "ONE",
        " TWO",
        " THREE",
    ]
    assert deltas(await ask(adapt(FakeStreamingListLLM(responses=["abc"])), "hi")) == [
        "a",
        "b",
        "c",
    ]


@pytest.mark.parametrize(
    "runnable",
    [
        Whole(script=["one two three"]),
        CHAIN | RunnableLambda(lambda text: text),
        create_agent(Whole(script=["one two three"]), tools=[]),
        line(("say", lambda _: {"messages": [AIMessage("one two three")]})).compile(),
    ],
)
async def test_whole_answers_are_one_output(runnable):
    outputs = [e for e in await ask(adapt(runnable), "hi") if isinstance(e, TextDelta | Output)]
    assert [(tuple(o.parts), o.name) for o in outputs] == [((Text("one two three"),), "answer")]


@pytest.mark.parametrize("make", [lambda model: model, lambda model: create_agent(model, tools=[])])
async def test_chunks_are_sent_immediately(make):
    gate = asyncio.Event()
    adapter = adapt(make(Scripted(script=["one two three"], gate=gate)))
    events = adapter.stream(request("hi"))
    assert await anext(events) == TextDelta("one")
    gate.set()
    assert deltas([event async for event in events]) == WORDS[1:]


async def test_text_beside_tool_calls_is_a_separate_paragraph():
    model = Scripted(script=[calling(call("add", a=1, b=2), text="let me see"), "it is 3"])
    assert answer(await ask(adapt(create_agent(model, tools=[add])), "1+2")) == (
        "let me see\n\nit is 3"
    )


async def test_only_the_last_node_is_streamed():
    graph = line(("classify", speaker("billing")), ("reply", speaker("one two three")))
    events = await ask(adapt(graph.compile()), "hi")
    assert deltas(events) == WORDS


async def test_only_branches_that_can_end_are_streamed():
    def route(_) -> Literal["left", "right"]:
        return "right"

    builder = StateGraph(MessagesState)
    builder.add_node("router", speaker("to the right"))
    builder.add_node("left", speaker("left"))
    builder.add_node("right", speaker("right it is"))
    builder.add_edge(START, "router")
    builder.add_conditional_edges("router", route)
    builder.add_edge("left", END)
    builder.add_edge("right", END)
    assert answer(await ask(adapt(builder.compile()), "hi")) == "right it is"


async def test_unannotated_branches_are_streamed_if_no_other_node_ends():
    builder = StateGraph(MessagesState)
    builder.add_node("model", speaker("one two three"))
    builder.add_edge(START, "model")
    builder.add_conditional_edges("model", lambda _: END)
    assert deltas(await ask(adapt(builder.compile()), "hi")) == WORDS


async def test_commands_annotated_to_end_are_streamed():
    say = Scripted(script=["planned", "one two three"])

    async def plan(state) -> Command[Literal["write"]]:
        said = await say.ainvoke(state["messages"])
        return Command(goto="write", update={"messages": [said]})

    async def write(state) -> Command[Literal["__end__"]]:
        return Command(goto=END, update={"messages": [await say.ainvoke(state["messages"])]})

    builder = StateGraph(MessagesState)
    builder.add_node("plan", plan)
    builder.add_node("write", write)
    builder.add_edge(START, "plan")
    assert deltas(await ask(adapt(builder.compile()), "hi")) == WORDS


async def test_agents_that_hand_over_to_each_other_are_streamed():
    def hands_over(other: str):
        @tool(f"to_{other}")
        def hand_over(runtime: ToolRuntime) -> Command:
            """Hand over."""
            done = ToolMessage(f"over to {other}", tool_call_id=runtime.tool_call_id)
            messages = [*runtime.state["messages"], done]
            return Command(graph=Command.PARENT, goto=other, update={"messages": messages})

        return hand_over

    alice = Scripted(script=[calling(call("to_bob", "c0"))])
    bob = Scripted(script=["one two three"])
    builder = StateGraph(MessagesState).add_edge(START, "alice")
    builder.add_node("alice", create_agent(alice, [hands_over("bob")]), destinations=("bob",))
    builder.add_node("bob", create_agent(bob, [hands_over("alice")]), destinations=("alice",))
    assert deltas(await ask(adapt(builder.compile()), "hi")) == WORDS


async def test_graphs_whose_nodes_lead_on_by_a_command_are_not_streamed():
    say = Scripted(script=["a draft"])

    async def write(state):
        said = await say.ainvoke(state["messages"])
        return Command(graph=Command.PARENT, goto="review", update={"messages": [said]})

    builder = StateGraph(MessagesState).add_edge(START, "team")
    builder.add_node("team", line(("write", write)).compile(), destinations=("review",))
    builder.add_node("review", speaker("one two three"))
    assert deltas(await ask(adapt(builder.compile()), "hi")) == WORDS


async def test_nodes_of_subgraphs_follow_the_same_rule():
    inner = line(("draft", speaker("a draft")), ("polish", speaker("one two three"))).compile()
    outer = line(("team", inner)).compile()
    assert deltas(await ask(adapt(outer), "hi")) == WORDS


async def test_models_in_tools_and_middleware_are_not_streamed():
    helper = Scripted(script=["inner words"])

    @tool
    async def consult(question: str) -> str:
        """Ask a helper."""
        return (await helper.ainvoke(question)).text

    class Chatty(AgentMiddleware):
        async def abefore_model(self, state, runtime):
            await helper.ainvoke(state["messages"])

    model = Scripted(script=[calling(call("consult", question="?")), "one two three"])
    agent = create_agent(
        model,
        tools=[consult],
        middleware=[Chatty(), HumanInTheLoopMiddleware(interrupt_on={"other": True})],
    )
    assert deltas(await ask(adapt(agent), "hi")) == WORDS
    assert len(helper.seen) == 3


async def test_stream_nodes_selects_the_nodes():
    graph = line(("draft", speaker("a draft")), ("polish", speaker("one two three"))).compile()
    both = await ask(adapt(graph, stream_nodes=["draft", "polish"]), "hi")
    assert answer(both) == "a draft\n\none two three"
    none = await ask(adapt(graph, stream_nodes=[]), "hi")
    assert (deltas(none), answer(none)) == ([], "one two three")
    outer = line(("team", graph)).compile()
    assert answer(await ask(adapt(outer, stream_nodes=["draft"]), "hi")) == (
        "a draft\n\none two three"
    )
    with pytest.raises(TargetError, match="no node writer"):
        adapt(graph, stream_nodes=["writer"])
    with pytest.raises(TargetError, match="no nodes"):
        adapt(MODEL, stream_nodes=["model"])


async def test_text_that_its_node_changes_is_corrected():
    model = Scripted(script=["one two three"])

    async def censor(state):
        said = await model.ainvoke(state["messages"])
        return {"messages": [AIMessage(said.text.replace("two", "***"))]}

    events = await ask(adapt(line(("censor", censor)).compile()), "hi")
    assert answer(events) == "one *** three"


def in_parallel(**nodes):
    """Return a graph that runs these nodes in parallel."""
    builder = StateGraph(MessagesState)
    for name, node in nodes.items():
        builder.add_node(name, node)
        builder.add_edge(START, name)
        builder.add_edge(name, END)
    return builder.compile()


async def test_parallel_nodes_do_not_mix_their_text():
    slow, fast, begun = asyncio.Event(), asyncio.Event(), asyncio.Event()
    first = speaker("a b c", gate=slow)
    second = speaker(lambda _: begun.set() or "d e f", gate=fast)
    events = adapt(in_parallel(first=first, second=second)).stream(request("hi"))
    assert await anext(events) == TextDelta("a")
    fast.set()
    await begun.wait()
    slow.set()
    rest = "".join(deltas([event async for event in events]))
    assert "a" + rest == "a b c\n\nd e f"


async def test_held_back_nodes_continue_streaming():
    slow, fast = asyncio.Event(), asyncio.Event()
    graph = in_parallel(first=speaker("a b", gate=slow), second=speaker("d e f", gate=fast))
    events = adapt(graph).stream(request("hi"))
    assert await anext(events) == TextDelta("a")
    slow.set()
    assert await anext(events) == TextDelta(" b")
    assert await anext(events) == TextDelta("\n\nd")
    fast.set()
    assert deltas([event async for event in events]) == [" e", " f"]


async def test_other_chunks_are_joined_as_langchain_does():
    async def lists(_):
        yield [1]
        yield [2]

    async def snapshots(_):
        yield {"a": 1}
        yield {"a": 1, "b": 2}

    (event,) = await ask(adapt(RunnableLambda(lists)), "hi")
    assert event.parts == (Data([1, 2]),)
    (event,) = await ask(adapt(RunnableLambda(snapshots)), "hi")
    assert event.parts == (Data({"a": 1, "b": 2}),)


async def test_configurable_models_stream():
    model = MODEL.configurable_fields(script=ConfigurableField(id="script"))
    assert deltas(await ask(adapt(model), "hi")) == WORDS


async def test_text_of_a_state_without_messages_is_streamed_once():
    model = Scripted(script=["one two three"])

    async def tell(state):
        return {"joke": (await model.ainvoke(state["topic"])).text}

    builder = StateGraph(Joke)
    builder.add_node("tell", tell)
    builder.add_edge(START, "tell")
    builder.add_edge("tell", END)
    events = await ask(adapt(builder.compile()), Data({"topic": "cats"}))
    assert deltas(events) == WORDS
    assert answer(events) == "one two three"


async def test_entrypoints_are_streamed_but_not_their_tasks():
    model = Scripted(script=["planning", "one two three"])

    @task
    async def plan(text: str) -> str:
        return (await model.ainvoke(text)).text

    @entrypoint()
    async def flow(text: str) -> str:
        return (await model.ainvoke(await plan(text))).text

    assert deltas(await ask(adapt(flow), "hi")) == WORDS
    assert answer(await ask(adapt(flow, stream_nodes=["plan"]), "hi")) == (
        "planning\n\none two three"
    )


async def test_later_turns_do_not_repeat_earlier_answers():
    def quiet(state):
        return {"messages": [AIMessage("once")]} if len(state["messages"]) == 1 else {}

    adapter = adapt(line(("quiet", quiet)).compile())
    assert answer(await ask(adapter, "hi")) == "once"
    assert answer(await ask(adapter, "hi again")) == ""


async def test_output_functions_receive_the_whole_result():
    def shout(result):
        return str(result.text).upper()

    events = await ask(adapt(MODEL, output=shout), "hi")
    assert (deltas(events), answer(events)) == ([], "ONE TWO THREE")
    agent = create_agent(MODEL, tools=[])
    events = await ask(adapt(agent, output=lambda state: {"n": len(state["messages"])}), "hi")
    assert (deltas(events), only(events, Output)) == ([], Output((Data({"n": 2}),)))


@pytest.mark.parametrize("wants_progress", [False, True])
async def test_blocking_generators_at_the_end_of_a_chain_are_streamed(wants_progress):
    def shouted(chunks):
        for chunk in chunks:
            yield chunk.text.upper()

    chain = FakeListChatModel(responses=["abc"]) | shouted
    events = await ask(adapt(chain), "hello", wants_progress=wants_progress)
    assert "".join(deltas(events)) == "ABC"
    assert len(deltas(events)) == 3
