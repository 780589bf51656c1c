"""Graphs without a checkpointer keep their threads in the server's storage."""

from __future__ import annotations

import asyncio
import sys
from contextlib import asynccontextmanager

import httpx
import psycopg
import pytest
from a2a_adapters_langchain.serving.checkpointer import open_checkpointer
from langchain_core.messages import AIMessage
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt

from a2a_adapters import ApiKeys, Limits, ServerOptions, build_app
from tests.plugins.sql.conftest import new_url
from tests.support.postgresql import new_database

V1 = {"A2A-Version": "1.0"}
ASKS, DONE = "TASK_STATE_INPUT_REQUIRED", "TASK_STATE_COMPLETED"

OTHERS = """
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
"""


def counting():
    """Return a graph that counts the messages of its thread."""

    def count(state: MessagesState):
        return {"messages": [AIMessage(str(len(state["messages"])))]}

    return _graph(count)


def asking():
    """Return a graph that asks a question and repeats the reply."""

    def ask(state: MessagesState):
        return {"messages": [AIMessage(f"you said {interrupt('what?')}")]}

    return _graph(ask)


def _graph(node):
    builder = StateGraph(MessagesState)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    return builder


@asynccontextmanager
async def serving(target, url, **options):
    app = build_app(target, options=ServerOptions(storage=url, **options))
    transport = httpx.ASGITransport(app)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://agent", headers=V1) as http,
    ):
        yield http


async def send(http, text, *, path="/", context_id="c", task_id=None, key="none"):
    message = {"messageId": f"{text}-{id(text)}-{path}-{key}-{context_id}-{task_id}"}
    message |= {"role": "ROLE_USER", "contextId": context_id, "parts": [{"text": text}]}
    message |= {"taskId": task_id} if task_id else {}
    call = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}}
    return (await http.post(path, json=call, headers={"X-API-Key": key})).json()["result"]["task"]


def spoken(task):
    return "".join(part["text"] for a in task["artifacts"] for part in a["parts"])


async def test_conversations_continue_after_a_restart(url):
    for said, expected in (("a", "1"), ("b", "3"), ("c", "5")):
        async with serving(counting().compile(), url) as http:
            assert spoken(await send(http, said)) == expected


async def test_questions_are_answered_after_a_restart(url):
    async with serving(asking().compile(), url) as http:
        task = await send(http, "go")
        assert task["status"]["state"] == ASKS
    async with serving(asking().compile(), url) as http:
        task = await send(http, "yes", task_id=task["id"])
        assert (task["status"]["state"], spoken(task)) == (DONE, "you said yes")


async def test_owners_and_agents_are_isolated_within_a_context(url):
    keys = {"anna-key-0123456789": "anna", "ben-key-0123456789": "ben"}
    users = ApiKeys(keys)
    agents = {"one": counting().compile(), "two": counting().compile()}
    places = [(agent, key) for agent in agents for key in keys]
    for expected in ("1", "3"):
        async with serving(agents, url, authentication=users) as http:
            calls = (
                send(http, f"hi {expected}", path=f"/agents/{agent}/", key=key)
                for agent, key in places
            )
            assert [spoken(task) for task in await asyncio.gather(*calls)] == [expected] * 4


@pytest.mark.thorough
async def test_concurrent_conversations_are_isolated(url):
    async with serving(counting().compile(), url) as http:
        for expected in ("1", "3", "5"):
            calls = (send(http, f"hi {expected}", context_id=f"c{n}") for n in range(60))
            assert {spoken(task) for task in await asyncio.gather(*calls)} == {expected}


async def test_graph_factories_use_the_storage(url):
    def make(config):
        return counting().compile()

    from a2a_adapters_langchain import adapt

    for expected in ("1", "3"):
        async with serving(adapt(make), url) as http:
            assert spoken(await send(http, f"hi {expected}")) == expected


async def test_graphs_keep_their_own_checkpointer(url):
    saver = InMemorySaver()
    async with serving(counting().compile(checkpointer=saver), url) as http:
        await send(http, "hi")
    assert len(saver.storage) == 1
    async with serving(counting().compile(), url) as http:
        assert spoken(await send(http, "ho")) == "1"


async def test_agents_with_a_shared_checkpointer_are_isolated():
    graph = counting().compile(checkpointer=InMemorySaver())
    for expected in ("1", "3"):
        async with serving({"one": graph, "two": graph}, "memory:") as http:
            for agent in ("one", "two"):
                assert spoken(await send(http, expected, path=f"/agents/{agent}/")) == expected
    assert len(graph.checkpointer.storage) == 2


async def test_a_missing_checkpointer_package_is_logged(url, monkeypatch, caplog):
    for name in ("sqlite", "postgres"):
        monkeypatch.setitem(sys.modules, f"langgraph.checkpoint.{name}.aio", None)
    for _ in range(2):
        caplog.clear()
        async with serving(counting().compile(), url) as http:
            assert spoken(await send(http, f"hi {_}")) == "1"
        kind = url.partition(":")[0]
        [line] = [r.getMessage() for r in caplog.records if r.levelname == "WARNING"]
        assert f"a2a-adapters[langgraph-{kind}]" in line


async def test_concurrent_servers_create_the_tables(tmp_path):
    from a2a_adapters_langchain.serving.checkpointer import open_checkpointer

    url = new_url("postgresql", tmp_path)

    async def open_it():
        async with open_checkpointer(url) as saver:
            assert [item async for item in saver.alist(None)] == []

    await asyncio.gather(*(open_it() for _ in range(5)))


async def test_threads_of_expired_conversations_are_deleted(url, monkeypatch):
    from a2a_adapters_langchain.serving.checkpointer import open_checkpointer

    async with serving(counting().compile(), url) as http:
        for context in ("c", "d"):
            await send(http, "hi", context_id=context)
        async with open_checkpointer(url) as saver:
            theirs = {"configurable": {"thread_id": "theirs", "checkpoint_ns": ""}}
            await saver.aput(theirs, empty_checkpoint(), {}, {})
    monkeypatch.setattr("a2a_adapters.runtime.handler.PRUNE_SECONDS", 0.05)
    async with (
        serving(counting().compile(), url, limits=Limits(stored_seconds=0)),
        open_checkpointer(url) as saver,
        asyncio.timeout(60),
    ):
        while True:
            found = {c.config["configurable"]["thread_id"] async for c in saver.alist(None)}
            if found == {"theirs"}:
                break
            await asyncio.sleep(0.05)
    async with serving(counting().compile(), url) as http:
        assert spoken(await send(http, "ho")) == "1"


async def test_parallel_reads_share_one_connection():
    url = new_database()
    async with (
        open_checkpointer(url) as saver,
        await psycopg.AsyncConnection.connect(url, autocommit=True) as other,
    ):
        configs = [{"configurable": {"thread_id": str(number)}} for number in range(30)]
        assert await asyncio.gather(*map(saver.aget_tuple, configs)) == [None] * 30
        assert await (await other.execute(OTHERS)).fetchone() == (1,)
