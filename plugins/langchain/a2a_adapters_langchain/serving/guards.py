"""Finds what may change or block the text of an agent after its model has written it.

That is the middleware of `create_agent` with the hooks `after_model`, `after_agent` and
`wrap_model_call`. The middleware of LangChain, deepagents and langchain-anthropic does not change
text, except for `PIIMiddleware`; all other middleware may. So may chat models of your own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum, auto
from functools import cache, partial
from types import CodeType, FunctionType, MethodType
from typing import Any

from langchain_core.language_models import BaseLanguageModel
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool

from a2a_adapters import BlockedError
from a2a_adapters_langchain.serving.schema import checks_whole_answers, is_graph, is_remote

_TRUSTED = ("langchain.agents.middleware.", "deepagents.", "langchain_anthropic.")
_DECORATED = "langchain.agents.middleware.types"
"""The module of middleware that LangChain's decorators make from functions of the user."""

_MOST_OBJECTS = 10_000
"""The most objects to look at in search of graphs."""

_HOOKS = (".after_model", ".after_agent")
_BEFORE = ".before_model"
_MODEL_HANDLER = "awrap_model_call_handler"
"""The variable of `create_agent` with the composed `wrap_model_call` hooks."""

_TOOL_HANDLERS = ("_wrap_tool_call", "_awrap_tool_call")
"""The hooks of a `ToolNode`, without public names."""

_BLOCKING = {"PIIDetectionError", "OpenAIModerationError"}
"""The exceptions by which middleware of LangChain's packages ends a run."""


class Guards(Enum):
    """The guardrails of a graph."""

    NONE = auto()
    """Nothing changes or blocks what a model has written."""
    STREAMED = auto()
    """All of them check text while it is streamed, by their stream transformers."""
    UNSTREAMED = auto()
    """Some of them check complete messages only."""
    WHOLE = auto()
    """A model of your own checks its answers only if it does not stream."""


def guards_of(graph: Any, *, with_tools: bool = False) -> Guards:
    """Return the guardrails of a graph, and of the graphs within it.

    Args:
        graph: The graph.
        with_tools: Whether to look at the graphs that its tools call, too.
    """
    found = _reachable(graph, with_tools=with_tools)
    if any(map(checks_whole_answers, found)):
        return Guards.WHOLE
    own, *inner = map(_guards, found)
    if any(inner):
        return Guards.UNSTREAMED  # LangGraph applies the transformers of the outer graph only
    if not own:
        return Guards.NONE
    return Guards.STREAMED if all(map(_checks_stream, own)) else Guards.UNSTREAMED


def waiting_calls(graph: Any, guards: Guards) -> Callable[[tuple[str, ...]], bool]:
    """Return whether tool calls and results may still be changed or refused, see `GraphProgress`.

    Args:
        graph: The graph.
        guards: Its guardrails.
    """
    if guards is not Guards.NONE:
        return lambda _: True
    from a2a_adapters_langchain.serving.answer_nodes import (  # noqa: PLC0415 - imports LangGraph
        calls_tools_directly,
        graph_at,
    )

    def waits(path: tuple[str, ...]) -> bool:
        inner = graph_at(graph, path)
        return inner is None or _changes_results(inner) or not calls_tools_directly(inner)

    return cache(waits)


def _changes_results(graph: Any) -> bool:
    """Whether middleware may change the results of tools before the model sees them."""
    nodes = {name: node.bound for name, node in graph.nodes.items()}
    found = (_middleware_of(bound) for name, bound in nodes.items() if name.endswith(_BEFORE))
    return any(_may_change(each, "apply_to_tool_results") for each in found)


def checks_arguments(graph: Any) -> bool:
    """Whether hooks around tools may change or refuse the arguments that a model has written."""
    graphs = filter(is_graph, _reachable(graph, with_tools=False))
    return any(_wraps_tools(node.bound) for each in graphs for node in each.nodes.values())


def _wraps_tools(node: Any) -> bool:
    hooks = [getattr(node, name, None) for name in _TOOL_HANDLERS]
    found = [each for hook in hooks if hook for each in _composed(hook, "wrap_tool_call")]
    return any(hooks) and (not found or any(map(_may_change, found)))


def blocked(error: BaseException) -> BlockedError | None:
    """Return the rejection for an exception of a guardrail; None for others."""
    return BlockedError() if type(error).__name__ in _BLOCKING else None


def _reachable(graph: Any, *, with_tools: bool) -> list[Any]:
    """Return a graph, and all graphs and models with checks that its nodes refer to.

    LangGraph's `get_subgraphs` yields one graph for each node at most.
    """
    found: list[Any] = []
    todo: list[Any] = [graph]
    seen: dict[int, object] = {}
    while todo and len(seen) < _MOST_OBJECTS:
        value = todo.pop(0)
        if id(value) in seen:
            continue
        seen[id(value)] = value
        if is_graph(value) and not is_remote(value):
            found.append(value)
            nodes = (node.bound for node in value.nodes.values())
            todo += [each for each in nodes if with_tools or not hasattr(each, "tools_by_name")]
        elif checks_whole_answers(value):
            found.append(value)
        else:
            todo += _referred(value, with_tools=with_tools)
    return found


def _referred(value: Any, *, with_tools: bool) -> Iterable[Any]:  # noqa: PLR0911 - a kind each
    """Return what a node, or something that it refers to, may call."""
    if isinstance(value, MethodType):
        return [value.__func__, *vars(value.__self__).values()] if _has_vars(value) else ()
    if isinstance(value, FunctionType):
        if with_tools or not _is_of_create_agent(value):  # which refers to the tools
            return _captured(value)
        return [cell.cell_contents for name, cell in _cells(value) if name == "model"]
    if isinstance(value, partial):
        return [value.func, *value.args, *value.keywords.values()]
    if isinstance(value, Mapping):
        return list(value.values())
    if isinstance(value, list | tuple | set | frozenset):
        return list(value)
    is_tool = isinstance(value, BaseTool)
    if isinstance(value, Runnable) and not isinstance(value, BaseLanguageModel):
        return list(vars(value).values()) if with_tools or not is_tool else ()
    return ()


def _has_vars(method: MethodType) -> bool:
    return hasattr(method.__self__, "__dict__") and not isinstance(method.__self__, type)


def _captured(function: FunctionType) -> list[Any]:
    """Return the variables of enclosing scopes and of its module that a function names."""
    cells = [cell.cell_contents for cell in function.__closure__ or () if _is_set(cell)]
    codes = [function.__code__]
    for code in codes:
        codes += [each for each in code.co_consts if isinstance(each, CodeType)]
    names = {name for code in codes for name in code.co_names}
    known = function.__globals__
    return [*cells, *(known[name] for name in sorted(names) if name in known)]


def _guards(graph: Any) -> list[object]:
    """Return the middleware of an agent that may change text; None stands for an unknown one."""
    nodes = {name: node.bound for name, node in graph.nodes.items()}
    found = [_middleware_of(bound) for name, bound in nodes.items() if name.endswith(_HOOKS)]
    function = getattr(nodes.get("model"), "afunc", None)
    if isinstance(function, FunctionType) and _is_of_create_agent(function):
        found += _wrapping(function)
    return [each for each in found if _may_change(each)]


def _is_of_create_agent(function: FunctionType) -> bool:
    return function.__module__ == "langchain.agents.factory"


def _middleware_of(node: Any) -> object:
    """Return the middleware of a node of `create_agent`; None if it is unknown."""
    hooks = (getattr(node, "func", None), getattr(node, "afunc", None))
    return next((hook.__self__ for hook in hooks if isinstance(hook, MethodType)), None)


def _wrapping(function: FunctionType) -> Iterator[object]:
    """Yield the middleware whose hooks `create_agent` has composed around the model's call.

    It is one None in another version of LangChain, whose hooks are unknown.
    """
    if _MODEL_HANDLER not in function.__code__.co_freevars:
        yield None
        return
    yield from _composed(dict(_cells(function))[_MODEL_HANDLER].cell_contents, "wrap_model_call")


def _composed(hook: object, name: str) -> Iterator[object]:
    """Yield the middleware whose hooks of this name LangChain has composed."""
    todo, seen = [hook], set()
    while todo:
        value = todo.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, MethodType):
            if name in value.__func__.__qualname__:
                yield value.__self__
        elif isinstance(value, list | tuple):
            todo += value
        elif isinstance(value, FunctionType):
            todo += [cell.cell_contents for cell in value.__closure__ or () if _is_set(cell)]


def _cells(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """Return the names and cells of the variables of enclosing scopes."""
    return zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)


def _is_set(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


def _checks_stream(middleware: object) -> bool:
    """Whether a class of middleware says that its stream transformers check all its hooks do.

    Those that it inherits do not know that. The transformers of `PIIMiddleware` look at unfinished
    text: they mask the beginning of an address, and let the rest of it pass.
    """
    return "transformers" in vars(type(middleware))


def _may_change(middleware: object, applies: str = "apply_to_output") -> bool:
    """Whether a middleware may change text; `applies` is the option of `PIIMiddleware` for it."""
    kind = type(middleware)
    if (kind.__module__, kind.__name__) == ("langchain.agents.middleware.pii", "PIIMiddleware"):
        return bool(getattr(middleware, applies, True))
    if kind.__module__ == _DECORATED:
        hook: Any = getattr(kind, "awrap_model_call", None)
        return not hook.__qualname__.startswith("dynamic_prompt.")
    return not kind.__module__.startswith(_TRUSTED)
