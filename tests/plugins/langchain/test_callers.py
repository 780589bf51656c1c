"""The caller, configuration and context of a run."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from a2a_adapters_langchain import adapt
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from typing_extensions import TypedDict

from a2a_adapters import Caller, TargetError
from a2a_adapters.plugin import installed_plugins
from tests.plugins.langchain.support import answer, ask


@dataclass
class Desk:
    """A context with a required field."""

    name: str
    floor: int = 1


class Room(TypedDict):
    """The same as a typed dictionary."""

    name: str


def graph_of(node, **options):
    builder = StateGraph(MessagesState, **options)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    return builder


def says(text):
    return {"messages": [("ai", text)]}


@pytest.mark.parametrize(
    ("owner", "user_id"), [("alice", "alice"), ("50%@a.org", "50%25@a%2Eorg"), ("50%", "50%")]
)
async def test_graphs_receive_the_caller_and_the_task(owner, user_id):
    seen = {}

    def node(_state, config: RunnableConfig):
        seen.update(config["configurable"], about=config["metadata"])
        return says("ok")

    await ask(adapt(graph_of(node).compile()), "hello", owner=owner, task_id="t", context_id="c")
    assert (seen["user_id"], seen["langgraph_auth_user_id"]) == (user_id, owner)
    assert seen["langgraph_auth_user"]["identity"] == owner
    assert {"task_id": "t", "context_id": "c", "owner": owner}.items() <= seen["about"].items()


async def test_graphs_receive_the_claims_and_scopes_which_are_not_checkpointed():
    seen = {}

    def node(_state, config: RunnableConfig):
        seen.update(config["configurable"])
        return says("ok")

    saver = InMemorySaver()
    claims = {"email": "ann@example.org", "identity": "bob"}
    caller = Caller(owner="ann", claims=claims, scopes=frozenset({"book", "read"}))
    await ask(adapt(graph_of(node).compile(saver)), "hello", owner="ann", caller=caller)
    user = seen["langgraph_auth_user"]
    assert (user["identity"], user["email"]) == ("ann", "ann@example.org")
    assert user["permissions"] == seen["langgraph_auth_permissions"] == ["book", "read"]
    stored = [*saver.list(None)]
    assert stored
    assert "example.org" not in f"{stored} {saver.storage} {saver.writes} {saver.blobs}"


async def test_stores_of_anonymous_callers_are_separate_per_conversation():
    def node(state, config: RunnableConfig, store: BaseStore):
        ids = config["configurable"]
        assert ids.get("langgraph_auth_user_id", "anonymous") == ids["user_id"].partition("-")[0]
        notes = ("notes", ids["user_id"])
        store.put(notes, state["messages"][-1].text, {})
        return says(",".join(sorted(note.key for note in store.search(notes))))

    served = adapt(graph_of(node).compile(store=InMemoryStore()))
    assert answer(await ask(served, "one", context_id="alice")) == "one"
    assert answer(await ask(served, "two", context_id="alice")) == "one,two"
    assert answer(await ask(served, "three", context_id="bob")) == "three"
    assert answer(await ask(served, "four", context_id="c", owner="alice")) == "four"


async def test_runnables_receive_the_ids_of_the_task():
    seen = []
    chain = RunnableLambda(lambda text, config: seen.append(config["metadata"]) or text)
    await ask(adapt(chain), "hello", owner="alice", task_id="t", context_id="c")
    assert {"task_id": "t", "context_id": "c", "owner": "alice"}.items() <= seen[0].items()
    groups = {"session_id": "c", "langfuse_session_id": "c", "langfuse_user_id": "alice"}
    assert groups.items() <= seen[0].items()


async def test_each_request_has_its_own_configuration():
    seen = []
    chain = RunnableLambda(lambda text, config: seen.append(config) or text)
    served = adapt(
        chain,
        config=lambda request: {
            "tags": [request.text],
            "metadata": {"plan": 1, "session_id": "mine"},
        },
    )
    await ask(served, "one", owner="alice")
    await ask(served, "two", owner="bob")
    assert [config["tags"] for config in seen] == [["one"], ["two"]]
    assert [config["metadata"]["owner"] for config in seen] == ["alice", "bob"]
    assert seen[0]["metadata"]["plan"] == 1
    assert seen[0]["metadata"]["session_id"] == "mine"


async def test_configurations_cannot_replace_the_thread():
    def node(state):
        return says(str(len(state["messages"])))

    served = adapt(
        graph_of(node).compile(),
        config=lambda _request: {"configurable": {"thread_id": "everybody", "user_id": "root"}},
    )
    said = [answer(await ask(served, "hello", owner=name, context_id="c")) for name in "ab"]
    assert said == ["1", "1"]


async def test_each_user_has_a_separate_store():
    def node(state, config: RunnableConfig, *, store: BaseStore):
        place = ("notes", config["configurable"]["user_id"])
        before = [item.value["text"] for item in store.search(place)]
        store.put(place, state["messages"][-1].text, {"text": state["messages"][-1].text})
        return says(",".join(before) or "nothing")

    served = adapt(graph_of(node).compile(store=InMemoryStore()))
    for owner, context_id, text, known in [
        ("alice", "1", "tea", "nothing"),
        ("bob", "1", "coffee", "nothing"),
        ("alice", "2", "milk", "tea"),
        ("ann@example.com", "1", "tea", "nothing"),
        ("ann@example%2Ecom", "1", "tea", "nothing"),
        ("ann@example%252Ecom", "1", "tea", "nothing"),
        ("ann@example.com", "2", "tea", "tea"),
    ]:
        events = await ask(served, text, owner=owner, context_id=context_id)
        assert answer(events) == known


@pytest.mark.parametrize(("schema", "make"), [(Desk, Desk), (Room, lambda name: {"name": name})])
async def test_each_request_has_its_own_context(schema, make):
    def node(_state, runtime: Runtime[schema]):
        desk = runtime.context
        return says(desk["name"] if isinstance(desk, dict) else desk.name)

    graph = graph_of(node, context_schema=schema).compile()
    served = adapt(graph, context=lambda request: make(f"desk of {request.owner}"))
    assert answer(await ask(served, "hello", owner="alice")) == "desk of alice"
    assert answer(await ask(served, "hello", owner="bob")) == "desk of bob"


@pytest.mark.parametrize("schema", [Desk, Room])
def test_graphs_with_a_missing_context_are_refused(schema):
    graph = graph_of(lambda _state: says("ok"), context_schema=schema).compile()
    with pytest.raises(TargetError, match="needs name: serve adapt"):
        adapt(graph)


def test_only_graphs_accept_a_context():
    with pytest.raises(TargetError, match="for graphs"):
        adapt(RunnableLambda(str), context=lambda request: request.owner)


async def test_graph_factories_make_a_graph_for_each_run():
    made = []

    def make_graph(config: RunnableConfig):
        user = config["configurable"].get("user_id", "nobody")
        made.append(user)
        return graph_of(lambda state: says(f"{user}: {len(state['messages'])}")).compile()

    served = installed_plugins().adapt(make_graph)
    said = [answer(await ask(served, "hello", owner=name)) for name in ("alice", "bob", "alice")]
    assert said == ["alice: 1", "bob: 1", "alice: 3"]
    assert made == ["nobody", "alice", "bob", "alice"]


async def test_graph_factories_accept_all_options():
    def make_graph(config: RunnableConfig):
        assert "made" in config.get("tags", ["made"])
        builder = graph_of(
            lambda _, runtime: says(f"{runtime.context['name']} called"), context_schema=Room
        )
        return builder.compile()

    served = adapt(
        make_graph,
        input=lambda request: {"messages": [("human", request.text.upper())]},
        output=lambda state: " ".join(message.text for message in state["messages"][-2:]),
        context=lambda request: {"name": request.owner},
        config=lambda _: {"tags": ["made"]},
    )
    said = [answer(await ask(served, "hello", owner=name)) for name in ("alice", "bob")]
    assert said == ["HELLO alice called", "HELLO bob called"]
    with pytest.raises(TargetError, match="no node x"):
        adapt(lambda config: graph_of(says).compile(), stream_nodes=["x"])


async def test_functions_without_arguments_can_make_the_graph():
    served = installed_plugins().adapt(lambda: graph_of(lambda _state: says("made")).compile())
    assert answer(await ask(served, "hello")) == "made"


def test_graph_factories_must_make_graphs():
    with pytest.raises(TargetError, match="has to make a graph, not a str"):
        installed_plugins().adapt(lambda config: "text")
