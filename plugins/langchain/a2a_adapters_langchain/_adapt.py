"""Picks the adapter for a target."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from langchain_core.runnables import Runnable

from a2a_adapters import Adapter, AgentRequest, Limits, TargetError
from a2a_adapters_langchain._runnable import RunnableAdapter

if TYPE_CHECKING:
    from collections.abc import Callable, Collection


def adapt(
    runnable: Runnable[Any, Any],
    *,
    input: Callable[[AgentRequest], object] | None = None,  # noqa: A002 - what LangChain calls it
    output: Callable[[Any], object] | None = None,
    stream_nodes: Collection[str] | None = None,
    limits: Limits | None = None,
) -> Adapter:
    """Wrap a runnable or graph, with options.

    Args:
        runnable: What answers.
        input: Makes the runnable's input of a request, in place of its schema's rules. It may
            raise `InvalidInputError`.
        output: Makes the answer of the runnable's result: text, parts, a message or anything
            JSON can express. The answer is then sent whole.
        stream_nodes: The nodes of a graph whose tokens are the answer, see `GraphAdapter`.
        limits: Bounds of the memory a graph without checkpointer gets.

    Raises:
        TargetError: It cannot be served as it is.
    """
    if _is_instance(runnable, "langgraph.pregel", "Pregel"):
        from a2a_adapters_langchain._graph import GraphAdapter  # noqa: PLC0415 - needs langgraph

        return GraphAdapter(
            runnable, input=input, output=output, stream_nodes=stream_nodes, limits=limits
        )
    if stream_nodes is not None:
        raise TargetError("stream_nodes is for graphs; this runnable has no nodes")
    return RunnableAdapter(runnable, input=input, output=output)


def adapt_if_ours(target: object) -> Adapter | None:
    """Wrap a runnable or graph, pass on anything else."""
    if _is_instance(target, "langgraph.graph.state", "StateGraph"):
        raise TargetError("this graph is not compiled yet: serve graph.compile()")
    return adapt(target) if isinstance(target, Runnable) else None


def _is_instance(target: object, module: str, name: str) -> bool:
    """Whether `target` is of a class whose module may not even be imported."""
    return module in sys.modules and isinstance(target, getattr(sys.modules[module], name))
