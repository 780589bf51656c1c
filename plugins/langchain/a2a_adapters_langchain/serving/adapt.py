"""Chooses the adapter for a target."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeGuard

from langchain_core.runnables import Runnable

from a2a_adapters import AgentRequest, Limits, TargetError
from a2a_adapters.plugin import Adapter, adapt_made, check_arguments, example_of
from a2a_adapters_langchain.serving.config import MakeConfig  # noqa: TC001 - checked
from a2a_adapters_langchain.serving.runnable import RunnableAdapter

if TYPE_CHECKING:
    from collections.abc import Collection

    from langchain_core.runnables import RunnableConfig

    from a2a_adapters import OutboundPolicy


def adapt(  # noqa: PLR0913 - a choice each
    runnable: Runnable[Any, Any] | Callable[[RunnableConfig], object] | Callable[[], object],
    *,
    input: Callable[[AgentRequest], object] | None = None,  # noqa: A002 - LangChain's name
    output: Callable[[Any], object] | None = None,
    stream_nodes: Collection[str] | None = None,
    config: MakeConfig | None = None,
    context: Callable[[AgentRequest], object] | None = None,
    limits: Limits | None = None,
    files: Collection[str] = (),
    fetch: OutboundPolicy | None = None,
) -> Adapter:
    """Wrap a runnable or graph, with options.

    Args:
        runnable: The runnable or graph, or a function that makes it: either a graph for each run
            from the run's configuration, or without arguments one for all runs. The latter may
            be `async` or an `asynccontextmanager`, which the server's event loop opens and closes.
        input: Makes the runnable's input from a request, in place of the rules for its schema. It
            may raise `InvalidInputError`.
        output: Makes the answer from the runnable's result: text, parts, a message or any JSON
            value. The answer is then sent whole.
        stream_nodes: The nodes of a graph whose tokens are the answer, see `GraphAdapter`.
        config: Makes the configuration of a run from a request: tags, metadata, `configurable`.
        context: Makes a graph's context from a request, for graphs with a `context_schema`.
        limits: Bounds the memory that a graph without a checkpointer gets.
        files: Patterns for the paths of files in a graph's state that are sent as artifacts, such
            as `*.md`.
        fetch: The policy for fetching files that callers send as URLs; by default they are refused.

    Raises:
        TargetError: The target cannot be served as it is.
    """
    options = dict(locals())
    del options["runnable"]  # which has errors of its own
    check_arguments(adapt, options)

    def wrap(target: Any) -> Adapter:
        made: Any = example_of(target)
        make = made if makes_graphs(made) else None
        served = _example(make) if make else made
        _check(served)
        if _is_instance(served, "langgraph.pregel", "Pregel"):
            from a2a_adapters_langchain.serving.graph import (  # noqa: PLC0415 - needs langgraph
                GraphAdapter,
            )

            return GraphAdapter(
                served,
                input=input,
                output=output,
                stream_nodes=stream_nodes,
                config=config,
                context=context,
                make=make,
                limits=limits,
                files=files,
                fetch=fetch,
            )
        if _is_instance(served, "langgraph.pregel.remote", "RemoteGraph"):
            from a2a_adapters_langchain.serving.remote import (  # noqa: PLC0415 - needs langgraph
                RemoteGraphAdapter,
            )

            return RemoteGraphAdapter(
                served,
                input=input,
                output=output,
                stream_nodes=stream_nodes,
                config=config,
                context=context,
                files=files,
                fetch=fetch,
            )
        if stream_nodes is not None:
            raise TargetError("stream_nodes is for graphs; this runnable has no nodes")
        if context is not None:
            raise TargetError("context is for graphs; this runnable has none")
        if files:
            raise TargetError("files are for graphs; this runnable has no state")
        return RunnableAdapter(served, input=input, output=output, config=config, fetch=fetch)

    return adapt_made(runnable, wrap)


def adapt_if_ours(target: Any) -> Adapter | None:
    """Wrap a runnable or graph; return None for other targets."""
    if isinstance(target, Runnable) or _is_builder(target) or makes_graphs(target):
        return adapt(target)
    if inspect.isfunction(target) and _is_async(target) and _takes_config(target, by_name=False):
        raise TargetError("a function that makes graphs with a RunnableConfig must not be async")
    return None


def _check(served: object) -> None:
    if _is_builder(served):
        raise TargetError("this graph is not compiled yet: serve graph.compile()")
    if not isinstance(served, Runnable):
        raise TargetError(f"an object of type {type(served).__name__} is not a runnable")


def _example(make: Callable[[RunnableConfig], object]) -> Any:
    """Call a function that makes graphs, as listed in `langgraph.json`, to inspect a graph."""
    example = make({"configurable": {}})
    if not _is_instance(example, "langgraph.pregel", "Pregel"):
        kind = type(example).__name__
        raise TargetError(f"a function that takes `config` has to make a graph, not a {kind}")
    return example


def _is_builder(target: object) -> bool:
    return _is_instance(target, "langgraph.graph.state", "StateGraph")


def _is_instance(target: object, module: str, name: str) -> bool:
    """Whether `target` is an instance of a class, without importing the class's module."""
    return module in sys.modules and isinstance(target, getattr(sys.modules[module], name))


_HINTS = ("RunnableConfig", "langchain_core.runnables.RunnableConfig")


def makes_graphs(target: object) -> TypeGuard[Callable[[RunnableConfig], Any]]:
    """Whether this is a function with one argument, named or annotated as a configuration."""
    if not (inspect.isfunction(target) or inspect.ismethod(target)):
        return False
    if inspect.isgeneratorfunction(target) or _is_async(target):
        return False
    return _takes_config(target)


def _is_async(function: object) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)


def _takes_config(function: Callable[..., object], *, by_name: bool = True) -> bool:
    """Whether a function requires a configuration only, by its annotation or its name."""
    parameters = inspect.signature(function).parameters.values()
    required = [each for each in parameters if each.default is each.empty]
    if len(required) != 1:
        return False
    hint = required[0].annotation
    if hint is inspect.Parameter.empty:
        return by_name and required[0].name == "config"
    return getattr(hint, "__name__", hint) in _HINTS
