from __future__ import annotations

import asyncio
import subprocess
import sys
from contextlib import asynccontextmanager
from functools import partial

import a2a_adapters_langchain
import pytest
from a2a_adapters_langchain import GraphAdapter, RunnableAdapter, adapt
from langchain_core.runnables import RunnableLambda
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.pregel.remote import RemoteGraph

from a2a_adapters import (
    ConfigurationError,
    MissingExtraError,
    NoAdapterError,
    TargetError,
    aserve,
    build_app,
)
from a2a_adapters.plugin import Plugins
from a2a_adapters.testing import answer_of, connect, running, send, user_message


def builder():
    graph = StateGraph(MessagesState)
    graph.add_node("node", lambda _: {})
    graph.add_edge(START, "node")
    return graph


@pytest.fixture
def plugins():
    plugins = Plugins()
    plugins.register(a2a_adapters_langchain, "langchain")
    return plugins


def test_hook_accepts_runnables_and_graphs(plugins):
    assert isinstance(plugins.adapt(RunnableLambda(str)), RunnableAdapter)
    assert isinstance(plugins.adapt(builder().compile()), GraphAdapter)
    assert isinstance(plugins.adapt(builder().compile().with_config(tags=["x"])), GraphAdapter)


def test_hook_ignores_other_targets(plugins):
    for target in (str.upper, object(), lambda text: text):
        with pytest.raises(NoAdapterError):
            plugins.adapt(target)


def test_uncompiled_graphs_are_refused(plugins):
    with pytest.raises(TargetError, match="compile"):
        plugins.adapt(builder())


def test_options_require_a_supported_target():
    with pytest.raises(TargetError, match="compile"):
        adapt(builder())
    with pytest.raises(TargetError, match="str is not a runnable"):
        adapt("text")


def works():
    return builder().compile(name="desk")


async def works_later():
    return works()


@asynccontextmanager
async def is_opened():
    yield works()


async def made_by_another():
    return lambda config: works()


@pytest.mark.parametrize("make", [works, works_later, is_opened, made_by_another, partial(works)])
async def test_factories_accept_options(make):
    served = adapt(make, output=lambda state: state["messages"][-1].text.upper())
    async with running(build_app(served)) as url, connect(url) as client:
        tasks = await asyncio.gather(*(send(client, user_message(word)) for word in ("a", "b")))
        assert [answer_of(task) for task in tasks] == ["A", "B"]


@pytest.mark.parametrize("make", [works, works_later])
async def test_options_of_factories_are_checked(make):
    with pytest.raises(TargetError, match="no node x"):
        await aserve(adapt(make, stream_nodes=["x"]), port=0)


def test_factories_must_make_supported_targets():
    with pytest.raises(TargetError, match="str is not a runnable"):
        adapt(lambda: "text")
    with pytest.raises(TargetError, match=r"fails\(\) could not be called: ValueError: no model"):
        adapt(fails)


def fails():
    raise ValueError("no model")


def test_unopened_adapters_refuse_requests():
    with pytest.raises(
        ConfigurationError, match=r"works_later\(\) is called in the server's event"
    ):
        adapt(works_later).describe()


def test_remote_graphs_can_be_nodes():
    remote = RemoteGraph("desk", url="http://127.0.0.1:1")
    graph = StateGraph(MessagesState).add_node("remote", remote).add_edge(START, "remote").compile()
    assert adapt(graph, stream_nodes=["remote"]).describe().name
    with pytest.raises(TargetError, match="no node desk"):
        adapt(graph, stream_nodes=["desk"])


def test_adapters_refuse_other_kinds():
    with pytest.raises(TargetError, match="GraphAdapter"):
        RunnableAdapter(builder().compile())


def test_public_names():
    assert a2a_adapters_langchain.adapt is adapt
    with pytest.raises(AttributeError, match="nothing"):
        _ = a2a_adapters_langchain.nothing


def test_missing_framework_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "langchain_core", None)
    with pytest.raises(MissingExtraError, match=r"a2a-adapters\[langchain\]"):
        _ = a2a_adapters_langchain.RunnableAdapter


CHECK = """
import sys
import a2a_adapters_langchain
assert a2a_adapters_langchain.a2a_adapt(print) is None
assert "langchain_core" not in sys.modules, "importing the plugin imported LangChain"
from langchain_core.runnables import RunnableLambda
adapter = a2a_adapters_langchain.a2a_adapt(RunnableLambda(str))
assert type(adapter).__name__ == "RunnableAdapter"
assert "langgraph" not in sys.modules, "serving a runnable imported LangGraph"
"""


def test_frameworks_are_imported_lazily():
    subprocess.run([sys.executable, "-c", CHECK], check=True)
