from __future__ import annotations

from dataclasses import dataclass

import pytest
from a2a_adapters_langchain import adapt
from langchain.agents import create_agent
from langchain.agents.structured_output import ProviderStrategy, StructuredOutputValidationError
from langchain_core.documents import Document
from langchain_core.messages import AIMessage
from langchain_core.output_parsers import JsonOutputParser, PydanticOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda, RunnableParallel, RunnablePassthrough
from langchain_core.tools import tool
from langgraph.func import entrypoint
from langgraph.graph import START, MessagesState, StateGraph
from pydantic import BaseModel
from typing_extensions import TypedDict

from a2a_adapters import Data, File, Output, TaskMetadata, Text
from tests.plugins.langchain.support import (
    USAGE,
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


class Total(BaseModel):
    total: int


@dataclass
class Point:
    x: int


class Shelf(BaseRetriever):
    documents: list[Document]

    def _get_relevant_documents(self, query, *, run_manager):
        return [doc for doc in self.documents if query in doc.page_content]


class Report(TypedDict):
    topic: str
    outline: str
    pages: int


def one_node(model):
    async def say(state):
        return {"messages": [await model.ainvoke(state["messages"])]}

    return StateGraph(MessagesState).add_node("say", say).add_edge(START, "say").compile()


TOTAL_SCHEMA = Total.model_json_schema()


async def test_structured_output_of_a_model_is_data_with_its_schema():
    model = Scripted(script=[calling(call("Total", total=3))])
    events = await ask(adapt(model.with_structured_output(Total)), "1+2")
    assert only(events, Output).parts == (Data(Total(total=3), schema=TOTAL_SCHEMA),)


@pytest.mark.parametrize(
    ("parser", "value", "schema"),
    [
        (JsonOutputParser(), {"total": 3}, None),
        (PydanticOutputParser(pydantic_object=Total), Total(total=3), TOTAL_SCHEMA),
    ],
)
async def test_parsed_output_is_sent_once_and_whole(parser, value, schema):
    events = await ask(adapt(Scripted(script=['{"total": 3}']) | parser), "1+2")
    assert deltas(events) == []
    assert only(events, Output).parts == (Data(value, schema=schema),)


async def test_structured_response_of_an_agent():
    model = Scripted(script=[calling(call("Total", total=3))])
    adapter = adapt(create_agent(model, tools=[], response_format=Total))
    events = await ask(adapter, "1+2")
    assert answer(events) == ""
    assert only(events, Output).parts == (Data(Total(total=3), schema=TOTAL_SCHEMA),)


class Native(Scripted):
    """A model with native structured output."""

    def bind_tools(self, tools, **kwargs):
        return self.bind(**kwargs)


@tool
def count() -> str:
    """Count."""
    return "3"


def native_agent(*script):
    strategy = ProviderStrategy(Total)
    return create_agent(Native(script=[*script]), tools=[count], response_format=strategy)


async def test_native_structured_output_is_sent_once_as_data():
    agent = native_agent(calling(call("count"), text="Let me count."), '{"total": 3}')
    events = await ask(adapt(agent), "1+2")
    assert answer(events) == "Let me count."
    assert only(events, Output).parts == (Data(Total(total=3), schema=TOTAL_SCHEMA),)


async def test_invalid_structured_output_is_never_sent():
    events = adapt(native_agent('{"total": "many"}')).stream(request("1+2"))
    with pytest.raises(StructuredOutputValidationError):
        await anext(events)


async def test_structured_output_of_an_inner_agent_is_sent_once():
    builder = StateGraph(MessagesState)
    builder.add_node("agent", native_agent('{"total": 3}'))
    builder.add_edge(START, "agent")
    assert answer(await ask(adapt(builder.compile()), "1+2")) == '{"total": 3}'


@pytest.mark.parametrize(
    ("value", "part"),
    [
        ({"a": 1}, Data({"a": 1})),
        ([1, 2], Data([1, 2])),
        ([], Data([])),
        (7, Data(7)),
        (Total(total=1), Data(Total(total=1), schema=TOTAL_SCHEMA)),
        (AIMessage("said"), Text("said")),
        ([AIMessage("first"), AIMessage("last")], Text("last")),
        ({"messages": [AIMessage("last")]}, Text("last")),
        (File(content=b"x"), File(content=b"x")),
        ([Text("a")], Text("a")),
    ],
)
async def test_values_become_parts(value, part):
    (event,) = await ask(adapt(RunnableLambda(lambda _: value)), "hi")
    assert tuple(event.parts) == (part,)


async def test_dataclasses_carry_their_schema():
    (event,) = await ask(adapt(RunnableLambda(lambda _: Point(1))), "hi")
    assert event.parts[0].value == Point(1)
    assert event.parts[0].schema["properties"] == {"x": {"title": "X", "type": "integer"}}


async def test_empty_results_send_nothing():
    assert await ask(adapt(RunnableLambda(lambda _: None)), "hi") == []


async def test_declared_output_types_are_the_schema_of_plain_objects():
    def count(_) -> Report:
        return {"topic": "x", "outline": "y", "pages": 1}

    count.__annotations__["return"] = Report
    (event,) = await ask(adapt(RunnableLambda(count)), "hi")
    assert event.parts[0].schema["properties"].keys() == {"topic", "outline", "pages"}


async def test_several_results_are_one_object():
    both = RunnableParallel(text=RunnablePassthrough(), length=RunnableLambda(len))
    (event,) = await ask(adapt(both), "hello")
    assert event.parts[0].value == {"text": "hello", "length": 5}


async def test_retrievers_return_documents_as_data():
    documents = [Document("a cat", metadata={"page": 1}, id="d1"), Document("a dog")]
    adapter = adapt(Shelf(documents=documents))
    (event,) = await ask(adapter, "cat")
    found = {"id": "d1", "page_content": "a cat", "metadata": {"page": 1}}
    assert event.parts == (Data([found]),)
    (event,) = await ask(adapter, "bird")
    assert event.parts == (Data([]),)


async def test_prompts_can_be_served():
    (event,) = await ask(adapt(ChatPromptTemplate.from_template("about {x}")), "cats")
    assert event.parts == (Text("Human: about cats"),)


async def test_graphs_send_only_the_keys_they_wrote():
    builder = StateGraph(Report)
    builder.add_node("write", lambda state: {"outline": f"on {state['topic']}", "pages": 2})
    builder.add_edge(START, "write")
    (event,) = await ask(adapt(builder.compile()), Data({"topic": "cats"}))
    assert event.parts == (Data({"outline": "on cats", "pages": 2}),)


async def test_graphs_send_only_the_keys_of_their_output_schema():
    class Public(TypedDict):
        outline: str

    builder = StateGraph(Report, output_schema=Public)
    builder.add_node("write", lambda _: {"outline": "an outline", "pages": 2})
    builder.add_edge(START, "write")
    events = await ask(adapt(builder.compile()), Data({"topic": "cats"}))
    assert events == [Output((Text("an outline"),), name="answer")]


IMAGE = {"type": "image", "base64": "UE5H", "mime_type": "image/png"}
REPORT = {"type": "file", "url": "https://x/a.pdf", "extras": {"filename": "a.pdf"}}
BLOCKS = [{"type": "text", "text": "here"}, {"type": "reasoning", "reasoning": "hm"}, IMAGE, REPORT]
FILES = [
    File(content=b"PNG", media_type="image/png"),
    File(url="https://x/a.pdf", filename="a.pdf"),
]
BLOCKS += [{"type": "file", "file_id": "known to the provider only"}]


@pytest.mark.parametrize("wrap", [lambda model: model, lambda model: create_agent(model, tools=[])])
async def test_files_in_a_streamed_answer_follow_its_text(wrap):
    model = Scripted(script=[AIMessage(BLOCKS)])
    events = await ask(adapt(wrap(model)), "draw")
    assert deltas(events) == ["here"]
    assert list(only(events, Output).parts) == FILES


async def test_files_in_a_whole_answer_are_in_the_same_output():
    events = await ask(adapt(Whole(script=[AIMessage(BLOCKS)])), "draw")
    assert list(only(events, Output).parts) == [Text("here"), *FILES]


async def test_workflow_messages_keep_their_files():
    model = Scripted(script=[AIMessage(BLOCKS)])

    @entrypoint()
    async def draw(text: str):
        return await model.ainvoke(text)

    events = await ask(adapt(draw), "draw")
    assert deltas(events) == ["here"]
    assert list(only(events, Output).parts) == FILES


async def test_what_output_makes_of_a_workflows_result_has_another_schema():
    async def write(text):
        return Report(topic=text, outline="tea, cups", pages=2)

    write.__annotations__["return"] = Report  # LangGraph does not evaluate postponed annotations
    workflow = entrypoint()(write)
    (report,) = only(await ask(adapt(workflow), "tea"), Output).parts
    assert report.schema["title"] == "Report"
    made = adapt(workflow, output=lambda report: {"count": report["pages"]})
    (count,) = only(await ask(made, "tea"), Output).parts
    assert (count.value, count.schema) == ({"count": 2}, None)


@pytest.mark.parametrize("kind", [Scripted, Whole])
@pytest.mark.parametrize("wrap", [lambda model: model, RunnableLambda(str).__or__, one_node])
@pytest.mark.parametrize("text", ["", "let me see"])
async def test_tool_calls_of_a_bare_model_are_sent_as_data(text, wrap, kind):
    wanted = calling(call("add", a=1, b=2), call("add", "c2", a=3, b=4), text=text)
    events = await ask(adapt(wrap(kind(script=[wanted]))), "sums")
    assert answer(events) == text
    (data,) = [p for e in events if isinstance(e, Output) for p in e.parts if isinstance(p, Data)]
    assert data == Data(
        {
            "tool_calls": [
                {"id": "c1", "name": "add", "args": {"a": 1, "b": 2}},
                {"id": "c2", "name": "add", "args": {"a": 3, "b": 4}},
            ]
        }
    )


async def test_usage_is_summed_over_all_model_calls():
    model = Scripted(script=["one", "two"])
    chain = model | RunnableLambda(lambda message: [message]) | model
    events = await ask(adapt(chain), "hi")
    double = {key: 2 * count for key, count in USAGE.items()}
    assert only(events, TaskMetadata).values == {"usage": double}


async def test_usage_details_are_kept():
    details = {**USAGE, "input_token_details": {"cache_read": 2}}
    model = Scripted(script=[AIMessage("hi", usage_metadata=details)])
    events = await ask(adapt(create_agent(model, tools=[])), "hi")
    assert only(events, TaskMetadata).values == {"usage": details}
