"""Finds what may change or block the text of an agent after its model has written it.

That is the middleware of `create_agent` with the hooks `after_model`, `after_agent` and
`wrap_model_call`. The middleware of LangChain, deepagents and langchain-anthropic does not change
text, except for `PIIMiddleware`; all other middleware may.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum, auto
from types import FunctionType, MethodType
from typing import Any

from a2a_adapters import BlockedError
from a2a_adapters_langchain.serving.schema import local_graphs

_TRUSTED = ("langchain.agents.middleware.", "deepagents.", "langchain_anthropic.")
_DECORATED = "langchain.agents.middleware.types"
"""The module of middleware that LangChain's decorators make from functions of the user."""

_HOOKS = (".after_model", ".after_agent")
_MODEL_HANDLER = "awrap_model_call_handler"
"""The variable of `create_agent` with the composed `wrap_model_call` hooks."""

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


def guards_of(graph: Any) -> Guards:
    """Return the guardrails of a graph, and of the graphs within it."""
    own, *inner = [_guards(each) for each in local_graphs(graph)]
    if any(inner):
        return Guards.UNSTREAMED  # LangGraph applies the transformers of the outer graph only
    if not own:
        return Guards.NONE
    return Guards.STREAMED if all(map(_checks_stream, own)) else Guards.UNSTREAMED


def blocked(error: BaseException) -> BlockedError | None:
    """Return the rejection for an exception of a guardrail; None for others."""
    return BlockedError() if type(error).__name__ in _BLOCKING else None


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
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    todo, seen = [cells[_MODEL_HANDLER].cell_contents], set()
    while todo:
        value = todo.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, MethodType):
            if "wrap_model_call" in value.__func__.__qualname__:
                yield value.__self__
        elif isinstance(value, list | tuple):
            todo += value
        elif isinstance(value, FunctionType):
            todo += [cell.cell_contents for cell in value.__closure__ or () if _is_set(cell)]


def _is_set(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


def _checks_stream(middleware: object) -> bool:
    """Whether stream transformers of a middleware check all that its hooks do.

    Those that a class inherits do not know what its own hooks check.
    """
    kind = type(middleware)
    is_own = "transformers" in vars(kind) or kind.__module__.startswith(_TRUSTED)
    return is_own and bool(getattr(middleware, "transformers", ()))


def _may_change(middleware: object) -> bool:
    kind = type(middleware)
    if kind.__name__ == "PIIMiddleware":
        return bool(getattr(middleware, "apply_to_output", True))
    if kind.__module__ == _DECORATED:
        hook: Any = getattr(kind, "awrap_model_call", None)
        return not hook.__qualname__.startswith("dynamic_prompt.")
    return not kind.__module__.startswith(_TRUSTED)
