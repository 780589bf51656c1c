"""Text between <think> and </think> at the beginning of an answer is removed."""

from __future__ import annotations

import pytest
from a2a_adapters_langchain import adapt
from langchain.agents import create_agent
from langchain_core.output_parsers import StrOutputParser
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langgraph.func import entrypoint
from langgraph.graph import START, MessagesState, StateGraph
from typing_extensions import TypedDict

from tests.plugins.langchain.support import (
    Scripted,
    Whole,
    answer,
    ask,
    call,
    calling,
    deltas,
)

THINKING = "<think>it says <hi> </think>\n\n one <think>two three"
ANSWER = "one <think>two three"


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def graph(model):
    builder = StateGraph(MessagesState)
    builder.add_node("say", lambda state: {"messages": [model.invoke(state["messages"])]})
    builder.add_edge(START, "say")
    return builder.compile()


def text_graph(model):
    class Asked(TypedDict):
        question: str

    class State(Asked):
        reply: str

    async def say(state):
        return {"reply": (await model.ainvoke(state["question"])).text}

    builder = StateGraph(State, input_schema=Asked)
    builder.add_node("say", say)
    builder.add_edge(START, "say")
    return builder.compile()


def workflow(model):
    @entrypoint()
    async def work(text: str) -> str:
        return (await model.ainvoke(text)).text

    return work


MAKERS = [
    lambda model: model,
    lambda model: model | StrOutputParser(),
    lambda model: model | StrOutputParser() | RunnableLambda(str),
    lambda model: RunnableLambda(str) | model,
    lambda model: create_agent(model, tools=[]),
    graph,
    text_graph,
    workflow,
]


@pytest.mark.parametrize("wants_progress", [False, True])
@pytest.mark.parametrize("kind", [Scripted, Whole])
@pytest.mark.parametrize("make", MAKERS)
async def test_reasoning_is_not_part_of_the_answer(make, kind, wants_progress):
    adapter = adapt(make(kind(script=[THINKING])))
    assert answer(await ask(adapter, "hi", wants_progress=wants_progress)) == ANSWER


@pytest.mark.parametrize("kind", [Scripted, Whole])
@pytest.mark.parametrize("make", MAKERS)
async def test_reasoning_without_an_answer_sends_nothing(make, kind):
    assert answer(await ask(adapt(make(kind(script=["<think>hm hm</think>"]))), "hi")) == ""


@pytest.mark.parametrize("make", [lambda model: model, lambda model: create_agent(model, tools=[])])
async def test_the_answer_is_still_streamed(make):
    adapter = adapt(make(Scripted(script=["<think>hm </think> one two"])))
    assert deltas(await ask(adapter, "hi")) == ["one", " two"]


async def test_reasoning_is_removed_from_each_message_of_an_agent():
    script = [
        calling(call("add", a=1, b=2), text="<think>a tool </think> let me see"),
        "<think>so </think> it is 3",
    ]
    agent = create_agent(Scripted(script=script), tools=[add])
    assert answer(await ask(adapt(agent), "1+2")) == "let me see\n\nit is 3"
