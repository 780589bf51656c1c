from __future__ import annotations

import asyncio
import sqlite3
from typing import Annotated

import pytest
from a2a_adapters_langchain import adapt
from langchain.agents import create_agent
from langchain_core.chat_history import InMemoryChatMessageHistory
from langchain_core.messages import AIMessage
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables import ConfigurableFieldSpec, RunnableLambda
from langchain_core.runnables.history import RunnableWithMessageHistory
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, MessagesState, StateGraph
from typing_extensions import TypedDict

from a2a_adapters import Data, File, Limits, TargetError, Text
from a2a_adapters.plugin import Turn
from tests.plugins.langchain.support import Scripted, answer, ask, kinds, request, run

HISTORY = [
    Turn("user", (Text("hi"),)),
    Turn("agent", (Text("hello"), Data({"n": 1}), File(content=b"PNG", media_type="image/png"))),
]


def transcript(messages):
    return " / ".join(message.text for message in messages if message.type != "system")


def echo_graph(**options):
    """Return a graph that answers with the whole conversation."""

    async def say(state):
        await asyncio.sleep(0)
        return {"messages": [AIMessage(transcript(state["messages"]))]}

    builder = StateGraph(MessagesState)
    builder.add_node(say)
    builder.add_edge(START, "say")
    return builder.compile(**options)


async def test_models_receive_the_earlier_turns():
    model = Scripted(script=[kinds])
    adapter = adapt(model)
    assert adapter.uses_history
    assert answer(await ask(adapter, "again", history=HISTORY)) == "human,ai,human"
    ((_, said, _),) = model.seen
    assert [block["type"] for block in said.content] == ["text", "text", "image"]


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([("system", "s"), MessagesPlaceholder("messages")], "human,ai,human"),
        (
            [("system", "s"), MessagesPlaceholder("chat_history"), ("human", "{input}")],
            "human,ai,human",
        ),
        (
            [MessagesPlaceholder("history", optional=True), ("human", "{input}")],
            "human,ai,human",
        ),
    ],
)
async def test_prompts_with_a_placeholder_receive_the_earlier_turns(messages, expected):
    adapter = adapt(ChatPromptTemplate.from_messages(messages) | Scripted(script=[kinds]))
    assert adapter.uses_history
    said = answer(await ask(adapter, "again", history=HISTORY))
    assert said.removeprefix("system,") == expected


@pytest.mark.parametrize(
    "runnable",
    [
        RunnableLambda(lambda text: text),
        ChatPromptTemplate.from_template("{x}") | Scripted(script=["x"]),
        echo_graph(),
    ],
)
def test_other_runnables_need_no_history(runnable):
    assert not adapt(runnable).uses_history


async def test_graphs_without_a_checkpointer_remember_each_conversation():
    graph = echo_graph()
    adapter = adapt(graph)
    assert answer(await ask(adapter, "a")) == "a"
    assert answer(await ask(adapter, "b")) == "a / a / b"
    assert answer(await ask(adapter, "c", context_id="other")) == "c"
    assert answer(await ask(adapter, "d", owner="ann")) == "d"
    assert graph.checkpointer is None


async def test_owners_and_contexts_are_separate():
    adapter = adapt(echo_graph())
    pairs = [("a", "b"), ("", "ab"), ("ab", ""), ("a\x00b", ""), ('a", "b', ""), ("", "\ud800")]
    for owner, context in pairs:
        assert answer(await ask(adapter, "x", owner=owner, context_id=context)) == "x"
    for owner, context in pairs:
        said = answer(await ask(adapter, "y", owner=owner, context_id=context))
        assert said == "x / x / y"


async def test_graphs_use_their_own_checkpointer():
    saver = InMemorySaver()
    adapter = adapt(echo_graph(checkpointer=saver))
    await ask(adapter, "a")
    assert answer(await ask(adapter, "b")) == "a / a / b"
    assert len(saver.storage) == 1


async def test_graphs_with_checkpointer_false_remember_nothing():
    adapter = adapt(echo_graph(checkpointer=False))
    await ask(adapter, "a")
    assert answer(await ask(adapter, "b")) == "b"


@pytest.mark.parametrize("make", [lambda: Scripted(script=[transcript]), echo_graph])
async def test_twenty_concurrent_conversations_are_isolated(make):
    adapter = adapt(make())

    async def converse(number: int) -> list[str]:
        said = []
        history: list[Turn] = []
        for turn in range(3):
            text = f"{number}.{turn}"
            asked = request(
                text,
                context_id=f"c{number % 10}",
                owner=f"o{number // 10}",
                history=history if adapter.uses_history else (),
            )
            said.append(answer(await run(adapter, asked)))
            history += [Turn("user", (Text(text),)), Turn("agent", (Text(said[-1]),))]
        return said

    for number, said in enumerate(await asyncio.gather(*(converse(n) for n in range(20)))):
        first, second, third = (f"{number}.{turn}" for turn in range(3))
        assert said[0] == first
        assert said[1] == f"{first} / {first} / {second}"
        assert said[2] == f"{first} / {first} / {second} / {said[1]} / {third}"


async def test_memory_evicts_the_oldest_conversations():
    adapter = adapt(echo_graph(), limits=Limits(conversations=2))
    for context in ("a", "b", "c"):
        await ask(adapter, "x", context_id=context)
    assert answer(await ask(adapter, "y", context_id="c")) == "x / x / y"
    assert answer(await ask(adapter, "y", context_id="a")) == "y"


async def test_memory_evicts_idle_conversations():
    adapter = adapt(echo_graph(), limits=Limits(history_seconds=0))
    await ask(adapter, "x")
    assert answer(await ask(adapter, "y")) == "y"


async def test_memory_never_evicts_conversations_in_use():
    adapter = adapt(echo_graph(), limits=Limits(conversations=1))
    await ask(adapter, "x", context_id="a")
    contexts = ["a", "b", "c", "d"]
    said = await asyncio.gather(*(ask(adapter, "y", context_id=c) for c in contexts))
    assert [answer(events) for events in said] == ["x / x / y", "y", "y", "y"]


def observing(seen, *, nodes=()):
    """Return a graph that calls `seen` with its checkpointer and its thread in each turn."""

    async def look(state, config):
        ids = config["configurable"]
        thread = {"configurable": {"thread_id": ids["thread_id"]}}
        await seen(ids["__pregel_checkpointer"], thread)
        return {}

    builder = StateGraph(MessagesState)
    builder.add_sequence([look, *nodes])
    builder.add_edge(START, "look")
    return builder.compile()


async def test_only_the_last_state_of_a_long_conversation_is_kept():
    sizes = []

    async def look(saver, thread):
        states = [each async for each in saver.alist(thread)]
        sizes.append((len(states), len(saver.blobs)))

    adapter = adapt(observing(look))
    for _ in range(5):
        await ask(adapter, "x")
    assert len(sizes) == 5
    assert len(set(sizes[1:])) == 1


async def test_states_of_finished_subgraphs_are_dropped():
    namespaces = []

    async def look(saver, thread):
        found = [each.config["configurable"] async for each in saver.alist(thread)]
        namespaces.append({each["checkpoint_ns"] for each in found})

    adapter = adapt(observing(look, nodes=[("inner", echo_graph())]))
    await ask(adapter, "a")
    assert answer(await ask(adapter, "b")) == "a / a / b"
    assert namespaces[1] == {""}


async def test_delta_channels_survive():
    class Notes(TypedDict):
        notes: Annotated[list[str], DeltaChannel(lambda old, new: sum(new, old))]
        last: str

    async def note(state):
        count = len(state.get("notes", []))
        return {"notes": [str(count)], "last": f"{count} before"}

    builder = StateGraph(Notes)
    builder.add_node(note)
    builder.add_edge(START, "note")
    adapter = adapt(builder.compile(), input=lambda _: {"notes": ["asked"]})
    await ask(adapter, "a")
    assert "3 before" in str(await ask(adapter, "b"))


async def test_nodes_can_read_and_delete_their_thread():
    counts = []

    async def look(saver, thread):
        counts.append(len([each async for each in saver.alist(thread)]))
        await saver.adelete_thread(thread["configurable"]["thread_id"])
        counts.append(len([each async for each in saver.alist(thread)]))

    await ask(adapt(observing(look)), "a")
    assert counts == [2, 0]


async def test_aclose_clears_the_memory():
    adapter = adapt(echo_graph())
    await ask(adapter, "a")
    await adapter.aclose()
    assert answer(await ask(adapter, "b")) == "b"


def test_blocking_checkpointers_are_refused():
    saver = SqliteSaver(sqlite3.connect(":memory:"))
    with pytest.raises(TargetError, match="AsyncSqliteSaver"):
        adapt(echo_graph(checkpointer=saver))
    saver.conn.close()


async def test_agents_remember_tool_free_turns():
    agent = create_agent(Scripted(script=[kinds]), tools=[], system_prompt="Be kind.")
    adapter = adapt(agent)
    await ask(adapter, "a")
    assert answer(await ask(adapter, "b")) == "system,human,ai,human"


with_history = pytest.mark.filterwarnings("ignore:RunnableWithMessageHistory is deprecated")


@with_history
@pytest.mark.filterwarnings("ignore:.*InMemoryChatMessageHistory.*")
async def test_message_histories_have_a_session_for_each_conversation():
    sessions: dict[str, InMemoryChatMessageHistory] = {}
    prompt = ChatPromptTemplate.from_messages([MessagesPlaceholder("past"), ("human", "{input}")])
    runnable = RunnableWithMessageHistory(
        prompt | Scripted(script=[kinds]),
        lambda session_id: sessions.setdefault(session_id, InMemoryChatMessageHistory()),
        input_messages_key="input",
        history_messages_key="past",
    )
    adapter = adapt(runnable)
    assert not adapter.uses_history
    assert answer(await ask(adapter, "a")) == "human"
    assert answer(await ask(adapter, "b")) == "human,ai,human"
    assert answer(await ask(adapter, "c", owner="ann")) == "human"
    assert len(sessions) == 2


@with_history
@pytest.mark.filterwarnings("ignore:.*InMemoryChatMessageHistory.*")
async def test_message_histories_inside_a_chain():
    sessions: dict[tuple[str, str], InMemoryChatMessageHistory] = {}

    def session(user_id: str, conversation_id: str) -> InMemoryChatMessageHistory:
        return sessions.setdefault((user_id, conversation_id), InMemoryChatMessageHistory())

    runnable = RunnableWithMessageHistory(
        Scripted(script=[kinds]),
        session,
        history_factory_config=[
            ConfigurableFieldSpec(id="user_id", annotation=str),
            ConfigurableFieldSpec(id="conversation_id", annotation=str),
        ],
    )
    adapter = adapt(runnable | RunnableLambda(lambda message: message.text))
    assert not adapter.uses_history
    await ask(adapter, "a", owner="ann")
    assert answer(await ask(adapter, "b", owner="ann")) == "human,ai,human"
    ((owner, _),) = sessions
    assert owner == "ann"


@with_history
def test_message_histories_with_unknown_keys_are_refused():
    runnable = RunnableWithMessageHistory(
        Scripted(script=["x"]),
        lambda tenant: InMemoryChatMessageHistory(),
        history_factory_config=[ConfigurableFieldSpec(id="tenant", annotation=str)],
    )
    with pytest.raises(TargetError, match="tenant"):
        adapt(runnable)


class ClassicMemory:
    """A memory as those of langchain-classic."""

    def load_memory_variables(self, inputs):
        return {}


class SimpleMemory(ClassicMemory):
    """A memory that does not change."""


class ClassicChain(RunnableLambda):
    """A chain as those of langchain-classic."""

    def __init__(self, memory=None, chains=()):
        super().__init__(str)
        self.memory = memory
        self.chains = list(chains)


def test_chains_with_a_memory_are_refused():
    chain = ClassicChain(ClassicMemory())
    for target in (chain, chain | str, ClassicChain(chains=[chain])):
        with pytest.raises(TargetError, match="ClassicChain has a memory"):
            adapt(target)
    for target in (ClassicChain(), ClassicChain(SimpleMemory())):
        adapt(target)
