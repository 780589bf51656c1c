from __future__ import annotations

import pytest
from a2a_adapters_langchain import adapt
from langchain.agents import create_agent
from langchain_core.callbacks import adispatch_custom_event
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langgraph.config import get_stream_writer
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, ToolRuntime
from langgraph.types import Command

from a2a_adapters import Data, Output, Progress, TaskMetadata, ToolCall, ToolResult
from tests.plugins.langchain.support import Scripted, answer, ask, call, calling, deltas, only

NEWS = Progress | ToolCall | ToolResult


class Shelf(BaseRetriever):
    def _get_relevant_documents(self, query, *, run_manager):
        return [Document(query)]


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    get_stream_writer()("adding")
    get_stream_writer()({"step": 1, "odd": object})
    return a + b


@tool
def double(n: int) -> int:
    """Double a number."""
    return 2 * n


def news(events):
    return [event for event in events if isinstance(event, NEWS)]


def agent(**options):
    model = Scripted(script=[calling(call("add", a=1, b=2)), "it is 3"])
    return create_agent(model, tools=[add], **options)


async def test_graphs_report_steps_tools_and_custom_events():
    events = await ask(adapt(agent()), "1+2", wants_progress=True)
    steps = [event for event in news(events) if not isinstance(event, Progress) or event.text]
    assert steps == [
        Progress("finished: model"),
        ToolCall("c1", "add", {"a": 1, "b": 2}),
        Progress("adding"),
        Progress("finished: tools"),
        ToolResult("c1", "add", "3"),
        Progress("finished: model"),
    ]
    assert next(event.data["step"] for event in news(events) if event not in steps) == 1
    assert deltas(events) == ["it", " is", " 3"]


async def test_progress_is_off_by_default():
    assert news(await ask(adapt(agent()), "1+2")) == []
    assert news(await ask(adapt(RunnableLambda(double.invoke)), Data({"n": 1}))) == []


async def test_tool_calls_of_subgraphs_are_reported_once():
    builder = StateGraph(MessagesState)
    builder.add_node("team", agent())
    builder.add_edge(START, "team")
    events = news(await ask(adapt(builder.compile()), "1+2", wants_progress=True))
    assert [event.id for event in events if isinstance(event, ToolCall)] == ["c1"]
    assert [event.id for event in events if isinstance(event, ToolResult)] == ["c1"]
    assert Progress("finished: team/model") in events


async def test_handoff_tools_are_reported():
    @tool
    def hand_over(runtime: ToolRuntime) -> Command:
        """Hand over."""
        done = ToolMessage("over to team", tool_call_id=runtime.tool_call_id)
        messages = [*runtime.state["messages"], done]
        return Command(graph=Command.PARENT, goto="team", update={"messages": messages})

    builder = StateGraph(MessagesState)
    first = Scripted(script=[calling(call("hand_over", "c0"))])
    builder.add_node("first", create_agent(first, tools=[hand_over]), destinations=("team",))
    builder.add_node("team", agent())
    builder.add_edge(START, "first")
    events = news(await ask(adapt(builder.compile()), "1+2", wants_progress=True))
    assert [event.id for event in events if isinstance(event, ToolCall)] == ["c0", "c1"]
    results = [(event.id, event.result) for event in events if isinstance(event, ToolResult)]
    assert results == [("c0", "over to team"), ("c1", "3")]


async def test_tool_calls_of_earlier_turns_are_not_reported_again():
    builder = StateGraph(MessagesState)
    model = Scripted(script=[calling(call("add", a=1, b=2)), "it is 3", "welcome"])
    builder.add_node("team", create_agent(model, tools=[add]))
    builder.add_edge(START, "team")
    adapter = adapt(builder.compile())
    await ask(adapter, "1+2")
    events = await ask(adapter, "thanks", wants_progress=True)
    assert [event for event in events if isinstance(event, ToolCall)] == []


async def test_failed_tools_are_reported():
    def fail(state):
        return {"messages": [AIMessage("", tool_calls=[call("gone")])]}

    builder = StateGraph(MessagesState)
    builder.add_node("model", fail)
    builder.add_node("tools", ToolNode([add]))
    builder.add_edge(START, "model")
    builder.add_edge("model", "tools")
    events = news(await ask(adapt(builder.compile()), "hi", wants_progress=True))
    assert only(events, ToolResult).is_error


async def use_tool(text):
    await adispatch_custom_event("halfway", {"done": 0.5})
    result = await double.ainvoke({"n": 2})
    return f"{text} {result}"


async def test_runnables_report_tools_retrievers_and_custom_events():
    chain = (
        RunnableLambda(use_tool)
        | Shelf(name="shelf")
        | RunnableLambda(lambda documents: documents[0].page_content)
    )
    events = await ask(adapt(chain), "got", wants_progress=True)
    tool_call, tool_result = only(events, ToolCall), only(events, ToolResult)
    assert (tool_call.name, tool_call.arguments) == ("double", {"n": 2})
    assert (tool_result.id, tool_result.result) == (tool_call.id, 4)
    assert Progress("halfway", {"done": 0.5}) in events
    assert Progress("retrieving: shelf") in events
    assert answer(events) == "got 4"


async def test_runnables_report_failed_tools():
    @tool
    def broken(n: int) -> int:
        """Fail."""
        raise RuntimeError("secret detail")

    async def use(text):
        try:
            await broken.ainvoke({"n": 1})
        except RuntimeError:
            return "gave up"

    events = await ask(adapt(RunnableLambda(use)), "hi", wants_progress=True)
    assert only(events, ToolResult) == ToolResult(
        only(events, ToolCall).id, "broken", is_error=True
    )
    assert answer(events) == "gave up"


MODEL = Scripted(script=["one two three"])


@pytest.mark.parametrize(
    "runnable",
    [
        MODEL,
        ChatPromptTemplate.from_template("{x}") | MODEL,
        ChatPromptTemplate.from_template("{x}") | MODEL | StrOutputParser(),
        (ChatPromptTemplate.from_template("{x}") | MODEL).with_config(run_name="named"),
        RunnableLambda(lambda _: MODEL),
        RunnableLambda(lambda text: {"got": text}),
        RunnableLambda(lambda text: text),
        Shelf(),
        double,
    ],
)
async def test_the_answer_is_the_same_with_progress(runnable):
    adapter = adapt(runnable)
    parts = [Data({"n": 1})] if runnable is double else ["hi"]
    plain = await ask(adapter, *parts)
    reported = await ask(adapter, *parts, wants_progress=True)
    kinds = (Output, TaskMetadata)
    assert deltas(reported) == deltas(plain)
    assert [e for e in reported if isinstance(e, kinds)] == [
        e for e in plain if isinstance(e, kinds)
    ]
