from __future__ import annotations

import subprocess
import sys

import a2a_adapters_langchain
import pytest
from a2a_adapters_langchain import GraphAdapter, RunnableAdapter, adapt
from langchain_core.runnables import RunnableLambda
from langgraph.graph import START, MessagesState, StateGraph

from a2a_adapters import MissingExtraError, NoAdapterError, Plugins, TargetError


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


def test_hook_takes_runnables_and_graphs(plugins):
    assert isinstance(plugins.adapt(RunnableLambda(str)), RunnableAdapter)
    assert isinstance(plugins.adapt(builder().compile()), GraphAdapter)
    assert isinstance(plugins.adapt(builder().compile().with_config(tags=["x"])), GraphAdapter)


def test_hook_passes_on_anything_else(plugins):
    for target in (str.upper, object(), lambda text: text):
        with pytest.raises(NoAdapterError):
            plugins.adapt(target)


def test_a_graph_that_is_not_compiled_is_an_error(plugins):
    with pytest.raises(TargetError, match="compile"):
        plugins.adapt(builder())


def test_each_adapter_takes_its_kind():
    with pytest.raises(TargetError, match="GraphAdapter"):
        RunnableAdapter(builder().compile())


def test_names_are_public_and_others_are_not():
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


def test_frameworks_are_imported_only_when_they_are_needed():
    subprocess.run([sys.executable, "-c", CHECK], check=True)
