"""Serves LangChain runnables and LangGraph graphs, and calls remote agents from them.

`serve(chain)` and `serve(graph)` need nothing from here. For options, wrap the target first:

    from a2a_adapters_langchain import adapt

    serve(adapt(graph, stream_nodes=["writer"]))

The other way round, `A2AChatModel`, `A2ALLM`, `A2ATool`, `A2AToolkit` and `A2ARunnable` are remote
agents as LangChain's own objects. `OmniRouteA2A` and `OmniRouteChatModel` are an OmniRoute gateway,
which has a dialect of its own, as models.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from a2a_adapters import MissingExtraError, hookimpl

if TYPE_CHECKING:
    from a2a_adapters import Adapter, RemoteAgent
    from a2a_adapters_langchain._adapt import adapt
    from a2a_adapters_langchain._graph import GraphAdapter
    from a2a_adapters_langchain._runnable import RunnableAdapter
    from a2a_adapters_langchain.calling.chat_model import A2AChatModel
    from a2a_adapters_langchain.calling.gateway_chat import OmniRouteChatModel
    from a2a_adapters_langchain.calling.gateway_llm import OmniRouteA2A
    from a2a_adapters_langchain.calling.llm import A2ALLM
    from a2a_adapters_langchain.calling.runnable import A2ARunnable
    from a2a_adapters_langchain.calling.tool import A2ATool
    from a2a_adapters_langchain.calling.toolkit import A2AToolkit

__all__ = [
    "A2ALLM",
    "A2AChatModel",
    "A2ARunnable",
    "A2ATool",
    "A2AToolkit",
    "GraphAdapter",
    "OmniRouteA2A",
    "OmniRouteChatModel",
    "RunnableAdapter",
    "adapt",
]

_FRAMEWORK = "langchain"

# Importing these imports LangChain, which takes a second: loaded on first use.
_LAZY = {
    "A2ALLM": ("a2a_adapters_langchain.calling.llm", "langchain_core"),
    "A2AChatModel": ("a2a_adapters_langchain.calling.chat_model", "langchain_core"),
    "A2ARunnable": ("a2a_adapters_langchain.calling.runnable", "langchain_core"),
    "A2ATool": ("a2a_adapters_langchain.calling.tool", "langchain_core"),
    "A2AToolkit": ("a2a_adapters_langchain.calling.toolkit", "langchain_core"),
    "GraphAdapter": ("a2a_adapters_langchain._graph", "langgraph"),
    "OmniRouteA2A": ("a2a_adapters_langchain.calling.gateway_llm", "langchain_core"),
    "OmniRouteChatModel": ("a2a_adapters_langchain.calling.gateway_chat", "langchain_core"),
    "RunnableAdapter": ("a2a_adapters_langchain._runnable", "langchain_core"),
    "adapt": ("a2a_adapters_langchain._adapt", "langchain_core"),
}


@hookimpl
def a2a_adapt(target: object) -> Adapter | None:
    """Wrap a runnable or a graph."""
    # A runnable can only exist if LangChain is imported already.
    if "langchain_core.runnables" not in sys.modules:
        return None
    from a2a_adapters_langchain._adapt import adapt_if_ours  # noqa: PLC0415

    return adapt_if_ours(target)


@hookimpl
def a2a_remote_llm(agent: RemoteAgent, framework: str) -> object | None:
    """Return a remote agent as a chat model."""
    return __getattr__("A2AChatModel")(agent=agent) if framework == _FRAMEWORK else None


@hookimpl
def a2a_remote_tool(agent: RemoteAgent, framework: str) -> object | None:
    """Return a remote agent as a tool."""
    return __getattr__("A2ATool").from_agent(agent) if framework == _FRAMEWORK else None


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, framework = _LAZY[name]
    try:
        import_module(framework)
    except ImportError as error:
        raise MissingExtraError(f"{name} of a2a_adapters_langchain", "langchain") from error
    return getattr(import_module(module), name)
