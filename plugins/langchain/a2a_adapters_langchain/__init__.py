"""Serves LangChain runnables and LangGraph graphs, and calls remote agents from them.

`serve(chain)` and `serve(graph)` work without an import from here. For options, wrap the target:

    from a2a_adapters_langchain import adapt

    serve(adapt(graph, stream_nodes=["writer"]))

In the other direction, `A2AChatModel`, `A2ALLM`, `A2ATool`, `A2AToolkit` and `A2ARunnable` are
remote agents as LangChain's own objects. `A2ATaskNode` suspends a graph until a remote task ends.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from a2a_adapters.plugin import hookimpl, lazy_names

if TYPE_CHECKING:
    from a2a_adapters import RemoteAgent
    from a2a_adapters.plugin import Adapter
    from a2a_adapters_langchain.calling.chat_model import A2AChatModel
    from a2a_adapters_langchain.calling.llm import A2ALLM
    from a2a_adapters_langchain.calling.node import A2ATaskNode
    from a2a_adapters_langchain.calling.runnable import A2ARunnable
    from a2a_adapters_langchain.calling.tool import A2ATool, A2AToolkit
    from a2a_adapters_langchain.serving.adapt import adapt
    from a2a_adapters_langchain.serving.graph import GraphAdapter
    from a2a_adapters_langchain.serving.runnable import RunnableAdapter

__all__ = [
    "A2ALLM",
    "A2AChatModel",
    "A2ARunnable",
    "A2ATaskNode",
    "A2ATool",
    "A2AToolkit",
    "GraphAdapter",
    "RunnableAdapter",
    "adapt",
]

_FRAMEWORK = "langchain"

# Loaded on first use, because importing LangChain takes a second.
__getattr__ = lazy_names(
    __name__,
    {
        "A2AChatModel": "calling.chat_model",
        "A2ALLM": "calling.llm",
        "A2ARunnable": "calling.runnable",
        "A2ATaskNode": "calling.node",
        "A2ATool": "calling.tool",
        "A2AToolkit": "calling.tool",
        "adapt": "serving.adapt",
        "GraphAdapter": "serving.graph",
        "RunnableAdapter": "serving.runnable",
    },
    frameworks=("langchain_core", "langgraph"),
    extra="langchain",
)


@hookimpl
def a2a_adapt(target: object) -> Adapter | None:
    """Wrap a runnable or a graph."""
    # A runnable can only exist if LangChain is imported already.
    if "langchain_core.runnables" not in sys.modules:
        return None
    from a2a_adapters_langchain.serving.adapt import adapt_if_ours  # noqa: PLC0415

    return adapt_if_ours(target)


@hookimpl
def a2a_accepts() -> str:
    """Return the kinds of targets that can be served."""
    return "a runnable, a compiled graph, or a function that makes one"


@hookimpl
def a2a_frameworks() -> list[str]:
    """Return the frameworks that this plugin supports."""
    return ["langchain-core", "langgraph"]


@hookimpl
def a2a_remote_llm(agent: RemoteAgent, framework: str) -> object | None:
    """Return a remote agent as a chat model."""
    return __getattr__("A2AChatModel")(agent=agent) if framework == _FRAMEWORK else None


@hookimpl
def a2a_remote_tool(agent: RemoteAgent, framework: str) -> object | None:
    """Return a remote agent as a tool."""
    return __getattr__("A2ATool").from_agent(agent) if framework == _FRAMEWORK else None
