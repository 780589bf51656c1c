"""Serves LangChain runnables and LangGraph graphs.

`serve(chain)` and `serve(graph)` need nothing from here. For options, wrap the target first:

    from a2a_adapters_langchain import adapt

    serve(adapt(graph, stream_nodes=["writer"]))
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING

from a2a_adapters import MissingExtraError, hookimpl

if TYPE_CHECKING:
    from a2a_adapters import Adapter
    from a2a_adapters_langchain._adapt import adapt
    from a2a_adapters_langchain._graph import GraphAdapter
    from a2a_adapters_langchain._runnable import RunnableAdapter

__all__ = ["GraphAdapter", "RunnableAdapter", "adapt"]

# Importing these imports LangChain, which takes a second: loaded on first use.
_LAZY = {
    "GraphAdapter": ("a2a_adapters_langchain._graph", "langgraph"),
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


def __getattr__(name: str) -> object:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, framework = _LAZY[name]
    try:
        import_module(framework)
    except ImportError as error:
        raise MissingExtraError("serving LangChain runnables", "langchain") from error
    return getattr(import_module(module), name)
