from __future__ import annotations

from dataclasses import dataclass
from operator import itemgetter
from typing import Annotated, Any, TypedDict

import pytest
from a2a_adapters_langchain import adapt
from langchain_core.language_models import FakeListLLM
from langchain_core.messages import AnyMessage, BaseMessage, HumanMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables import Runnable, RunnableLambda, RunnablePassthrough
from langchain_core.tools import tool
from langgraph.func import entrypoint
from langgraph.graph import START, MessagesState, StateGraph, add_messages
from pydantic import BaseModel
from typing_extensions import TypedDict as ModernTypedDict

from a2a_adapters import (
    Data,
    File,
    InvalidInputError,
    OutboundPolicy,
    RemoteRefusedError,
    TargetError,
    Text,
)
from a2a_adapters.plugin import Turn
from tests.plugins.langchain.support import Scripted, answer, ask, last_text, only, request
from tests.support.far_files import pictures, show


class Question(BaseModel):
    topic: str
    count: int = 3


@dataclass
class Point:
    x: int
    y: int


class Topic(ModernTypedDict):
    topic: str


class State(ModernTypedDict):
    topic: str
    outline: str


class OldState(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]


@tool
def search(query: str, limit: int = 3) -> str:
    """Search for something."""
    return f"{query}/{limit}"


def seeing(kind: Any = Any) -> RunnableLambda[Any, str]:
    """Return a runnable with this input type that repeats its input."""

    def see(value):
        return repr(value)

    see.__annotations__ = {"value": kind, "return": str}
    return RunnableLambda(see)


def graph(state: type, seen: list[Any], **schemas: type) -> Runnable[Any, Any]:
    builder = StateGraph(state, **schemas)
    builder.add_node("see", lambda value: seen.append(dict(value)) or {})
    builder.add_edge(START, "see")
    return builder.compile()


def prompt(template: str) -> Runnable[Any, Any]:
    return ChatPromptTemplate.from_template(template) | Scripted(script=[last_text])


TWO_KEYS = prompt("{topic} in {language}")
KEYS = "Send a data part with: language (required), topic (required)"


@pytest.mark.parametrize(
    ("runnable", "parts", "expected"),
    [
        (Scripted(script=[last_text]), ["hi"], "heard hi"),
        (Scripted(script=[last_text]), ["hi", Data({"a": 1})], 'heard hi\n{"a":1}'),
        (FakeListLLM(responses=["said"]), ["hi"], "said"),
        (FakeListLLM(responses=["said"]) | StrOutputParser(), [Data({"a": 1})], "said"),
        (seeing(str), ["hi"], "'hi'"),
        (seeing(str), ["hi", Data([1])], "'hi\\n[1]'"),
        (seeing(), ["hi"], "'hi'"),
        (seeing(), [Data({"a": 1})], "{'a': 1}"),
        (seeing(), ["hi", Data(1)], "'hi\\n1'"),
        (seeing(dict), [Data({"a": 1})], "{'a': 1}"),
        (seeing(str | dict), [Data({"a": 1})], "{'a': 1}"),
        (seeing(str | dict), ["hi"], "'hi'"),
        (seeing(str | None), [Data({"a": 1})], "'{\"a\":1}'"),
        (seeing(int), ["3"], "3"),
        (seeing(list[str]), [Data(["a"])], "['a']"),
        (seeing(Question), [Data({"topic": "x", "count": "4"})], "Question(topic='x', count=4)"),
        (seeing(Question), ["x"], "Question(topic='x', count=3)"),
        (seeing(Question), ["x", Data({"count": 5})], "Question(topic='x', count=5)"),
        (seeing(Point), [Data({"x": 1, "y": 2})], "Point(x=1, y=2)"),
        (seeing(Topic), ["x"], "{'topic': 'x'}"),
        (seeing().with_types(input_type=Question), ["x"], "Question(topic='x', count=3)"),
        (RunnableLambda(lambda x: x["a"] + x["b"]), [Data({"a": "1", "b": "2"})], "12"),
        ({"q": itemgetter("q")} | prompt("about {q}"), ["x"], "heard about x"),
        ({"q": RunnablePassthrough()} | prompt("about {q}"), ["x"], "heard about x"),
        (prompt("about {topic}"), ["x"], "heard about x"),
        (prompt("about {topic}"), [Data({"topic": ["a", 1]})], "heard about ['a', 1]"),
        (prompt("{schema} {copy}"), [Data({"schema": 1, "copy": 2})], "heard 1 2"),
        (TWO_KEYS, [Data({"topic": "x", "language": "en"})], "heard x in en"),
        (TWO_KEYS, ["x", Data({"language": "en"})], "heard x in en"),
        (TWO_KEYS, [Data({"topic": "x"}), Data({"language": "en"})], "heard x in en"),
        (search, ["x"], "x/3"),
        (search, [Data({"query": "x", "limit": 4})], "x/4"),
    ],
)
async def test_input_follows_the_schema(runnable, parts, expected):
    assert answer(await ask(adapt(runnable), *parts)) == expected


@pytest.mark.parametrize(
    ("runnable", "parts", "complaint"),
    [
        (Scripted(script=["no"]), ["  "], "the message is empty"),
        (seeing(str), [""], "the message is empty"),
        (seeing(dict), ["hi"], "this agent takes a data part, not text"),
        (seeing(int), ["three"], "Input should be a valid integer"),
        (seeing(list[str]), [Data([1])], "0: Input should be a valid string"),
        (seeing(list[str]), ["a", Data(["b"])], "this agent takes a single data part"),
        (seeing(Question), [Data({"topic": "x", "count": "many"})], "count: Input should be"),
        (seeing(Question), [Data({"topic": "x", "admin": True})], "unknown: admin"),
        (seeing(Topic), [Data({"topic": 1})], "Input should be a valid string"),
        (TWO_KEYS, ["x"], f"text alone is not enough. {KEYS}"),
        (TWO_KEYS, [Data({"topic": "x"})], f"missing: language. {KEYS}"),
        (TWO_KEYS, [Data({"topic": "x", "language": "en", "z": 1})], f"unknown: z. {KEYS}"),
        (TWO_KEYS, [Data([1])], f"a data part must be an object. {KEYS}"),
        (TWO_KEYS, ["x", Data({"topic": "a", "language": "b"})], "the data part sets every name"),
        (TWO_KEYS, [File(content=b"x")], "this agent takes text and data, no files"),
        (search, [Data({"query": "x", "limit": "many"})], "limit: Input should be"),
    ],
)
async def test_invalid_input_is_refused_before_the_first_event(runnable, parts, complaint):
    adapter = adapt(runnable)
    with pytest.raises(InvalidInputError) as refused:
        adapter.stream(request(*parts))
    assert complaint in str(refused.value)


async def test_refusals_do_not_contain_the_input():
    with pytest.raises(InvalidInputError) as refused:
        adapt(seeing(int)).stream(request("my password"))
    assert "password" not in str(refused.value)


async def test_messages_have_their_key_beside_other_keys():
    chain = ChatPromptTemplate.from_messages(
        [("system", "Speak {language}"), MessagesPlaceholder("messages")]
    ) | Scripted(script=[lambda messages: " | ".join(str(m.text) for m in messages)])
    adapter = adapt(chain)
    assert answer(await ask(adapter, "hi", Data({"language": "fr"}))) == "Speak fr | hi"
    with pytest.raises(InvalidInputError, match="missing: language"):
        adapter.stream(request("hi"))
    with pytest.raises(InvalidInputError, match="unknown: messages"):
        adapter.stream(request("hi", Data({"language": "fr", "messages": []})))
    with pytest.raises(InvalidInputError, match="neither text nor files"):
        adapter.stream(request(Data({"language": "fr"})))


async def test_ambiguous_lists_of_messages_are_refused():
    two = ChatPromptTemplate.from_messages([MessagesPlaceholder("a"), MessagesPlaceholder("b")])
    with pytest.raises(TargetError, match=r"several lists of messages \(a, b\)"):
        adapt(two | Scripted(script=["x"]))
    adapter = adapt(
        two | Scripted(script=[last_text]),
        input=lambda r: {"a": [], "b": [HumanMessage(r.text)]},
    )
    assert answer(await ask(adapter, "hi")) == "heard hi"


@pytest.mark.parametrize("state", [MessagesState, OldState])
async def test_callers_set_only_the_messages_of_a_graph(state):
    class Wider(state):
        is_admin: bool

    seen: list[Any] = []
    await ask(adapt(graph(Wider, seen)), "hi", Data({"is_admin": True}))
    (value,) = seen
    assert [message.text for message in value["messages"]] == ['hi\n{"is_admin":true}']
    assert "is_admin" not in value


async def test_graphs_may_name_their_messages_differently():
    class Chat(ModernTypedDict):
        chat: Annotated[list[AnyMessage], add_messages]
        mood: str

    seen: list[Any] = []
    await ask(adapt(graph(Chat, seen)), "hi")
    assert [message.text for message in seen[0]["chat"]] == ["hi"]

    class Two(Chat):
        drafts: Annotated[list[AnyMessage], add_messages]

    with pytest.raises(TargetError, match="chat, drafts"):
        adapt(graph(Two, seen))


async def test_graphs_without_messages_accept_the_keys_of_their_input_schema():
    seen: list[Any] = []
    adapter = adapt(graph(State, seen, input_schema=Topic))
    await ask(adapter, "cats")
    await ask(adapter, Data({"topic": "dogs"}), context_id="other")
    assert [value["topic"] for value in seen] == ["cats", "dogs"]
    with pytest.raises(InvalidInputError, match="unknown: outline"):
        adapter.stream(request(Data({"topic": "x", "outline": "y"})))


async def test_graphs_accept_a_part_of_their_state():
    seen: list[Any] = []
    adapter = adapt(graph(State, seen))
    await ask(adapter, Data({"topic": "cats"}))
    assert seen == [{"topic": "cats"}]
    with pytest.raises(InvalidInputError, match="with: topic, outline"):
        adapter.stream(request("cats"))
    with pytest.raises(InvalidInputError, match="valid string"):
        adapter.stream(request(Data({"topic": 1})))


async def test_graphs_with_a_pydantic_state():
    seen: list[Any] = []
    await ask(adapt(graph(Question, seen)), "cats")
    assert seen == [{"topic": "cats", "count": 3}]


async def test_entrypoints_accept_the_type_of_their_parameter():
    @entrypoint()
    async def shout(text: str) -> str:
        return text.upper()

    @entrypoint()
    async def count(messages: list[BaseMessage]) -> str:
        return str(len(messages))

    @entrypoint()
    async def total(point: Point) -> int:
        return point.x + point.y

    assert answer(await ask(adapt(shout), "hi")) == "HI"
    assert answer(await ask(adapt(count), "hi")) == "1"
    (event,) = await ask(adapt(total), Data({"x": 1, "y": 2}))
    assert event.parts == (Data(3),)


async def test_unresolvable_types_are_accepted():
    class Local(BaseModel):
        topic: str

    async def see(value: Local) -> str:
        return repr(value)

    assert answer(await ask(adapt(RunnableLambda(see)), "x")) == "'x'"
    assert answer(await ask(adapt(RunnableLambda(see)), Data({"topic": "x"}))) == "{'topic': 'x'}"


async def test_input_functions_override_the_schema_and_may_refuse():
    def read(asked):
        if not asked.text.startswith("#"):
            raise InvalidInputError("start with #")
        return {"topic": asked.text, "language": asked.owner}

    adapter = adapt(TWO_KEYS, input=read)
    assert answer(await ask(adapter, "#x", owner="ann")) == "heard #x in ann"
    with pytest.raises(InvalidInputError, match="start with #"):
        adapter.stream(request("x"))


async def test_files_reach_models_as_content_blocks():
    model = Scripted(script=["seen"])
    await ask(
        adapt(model),
        "look",
        File(content=b"PNG", media_type="image/png", filename="a.png"),
        File(content=b"%PDF"),
        Text("and say"),
    )
    ((message,),) = model.seen
    assert message.content == [
        {"type": "text", "text": "look"},
        {
            "type": "image",
            "mime_type": "image/png",
            "base64": "UE5H",
            "extras": {"filename": "a.png"},
        },
        {"type": "file", "mime_type": "application/octet-stream", "base64": "JVBERg=="},
        {"type": "text", "text": "and say"},
    ]


MESSAGES = ChatPromptTemplate.from_messages([MessagesPlaceholder("messages")])


@pytest.mark.parametrize("url", ["https://example.com/b.wav", "file:///etc/passwd", "gs://a/b"])
def test_file_urls_never_reach_a_model(url):
    model = Scripted(script=["seen"])
    graph = StateGraph(MessagesState).add_node("answer", last_text).add_edge(START, "answer")
    for target in (model, MESSAGES | model, graph.compile()):
        with pytest.raises(InvalidInputError, match="by their bytes"):
            adapt(target).stream(request("look", File(url=url)))
    assert not model.seen


async def test_file_urls_of_earlier_turns_become_names():
    model = Scripted(script=["seen"])
    earlier = [Turn("agent", [File(url="file:///etc/passwd", filename="list")])]
    await ask(adapt(model), "look", history=earlier)
    assert [message.content for message in model.seen[0]] == [
        "(A file: list)",
        "look",
    ]


async def test_file_urls_are_fetched_if_the_policy_allows_it():
    model = Scripted(script=["seen"])
    graph = StateGraph(MessagesState)
    graph.add_node("answer", lambda state: {"messages": [model.invoke(state["messages"])]})
    graph.add_edge(START, "answer")
    async with pictures(b"PNG") as server:
        for target in (model, graph.compile()):
            adapter = adapt(target, fetch=OutboundPolicy(allow_private=True))
            await show(adapter, server.file())
            block = model.seen[-1][-1].content[1]
            assert (block["type"], block["base64"]) == ("image", "UE5H")
            with pytest.raises(RemoteRefusedError, match="cannot be fetched"):
                await show(adapt(target, fetch=OutboundPolicy()), server.file())


async def test_structured_input_keeps_its_type_in_a_prompt():
    events = await ask(adapt(RunnableLambda(lambda x: {"got": x["a"]})), Data({"a": [1, {"b": 2}]}))
    assert only(events, object).parts[0].value == {"got": [1, {"b": 2}]}
