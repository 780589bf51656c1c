"""Finds what may change or withhold the answer of an agent after its model has given it."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any

from agent_framework import (
    BaseChatClient,
    ContextProvider,
    Executor,
    MessageInjectionMiddleware,
    ToolApprovalMiddleware,
    Workflow,
)
from agent_framework._middleware import MiddlewareDict, categorize_middleware

from a2a_adapters.plugin import overrides

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import FunctionType


_HARMLESS = (MessageInjectionMiddleware, ToolApprovalMiddleware)
"""The framework's own middleware that changes no text."""


def changes_answers(agent: Any) -> bool:
    """Whether a part of an agent, or of its client, may replace responses or end the run.

    That is middleware, a context provider that sees the response or adds middleware, or a custom
    class that wraps the run of its base class or of another agent.
    """
    if isinstance(inner := getattr(agent, "workflow", None), Workflow):
        return changes_outputs(inner)
    client = getattr(agent, "client", None)
    given = _by_kind(agent, client, "chat_middleware")
    return (
        any(type(each) not in _HARMLESS for each in (*given["agent"], *given["chat"]))
        or any(map(_judges, _providers(agent)))
        or _wraps(agent, "run")
        or (_holds_another(agent, "run") and not isinstance(agent, Executor))
        or _holds_another(client, "get_response")
        or _wraps(client, "get_response")
        or _wraps(client, "_inner_get_response")
    )


def changes_outputs(workflow: Workflow) -> bool:
    """Whether a part of an agent in a workflow may do so, or the agent is of a custom class."""
    return any(changes_answers(each) or _runs_itself(each) for each in _agents(workflow))


def changes_calls(agent: Any) -> bool:
    """Whether middleware of an agent, or of its client, may change tool calls and their results."""
    if isinstance(inner := getattr(agent, "workflow", None), Workflow):
        return changes_calls_in(inner)
    given = _by_kind(agent, getattr(agent, "client", None), "function_middleware")
    return bool(given["function"]) or adds_middleware(agent)


def adds_middleware(agent: Any) -> bool:
    """Whether a context provider of an agent adds middleware to runs, behind that of the agent."""
    return any(map(_adds_middleware, getattr(agent, "context_providers", None) or ()))


def changes_calls_in(workflow: Workflow) -> bool:
    """Whether middleware of an agent in a workflow may."""
    return any(map(changes_calls, _agents(workflow)))


def _by_kind(agent: object, client: object, of_client: str) -> MiddlewareDict:
    """Return the middleware of an agent, and some of its client, as the framework sorts it."""
    return categorize_middleware(
        getattr(agent, "middleware", None), getattr(client, of_client, None)
    )


def _agents(workflow: Workflow) -> Iterator[Any]:
    """Yield the agents of a workflow, and the executors that run another workflow."""
    for executor in workflow.executors.values():
        yield getattr(executor, "agent", executor)


def _providers(agent: Any) -> Iterator[ContextProvider]:
    """Yield the context providers of an agent that are not the framework's own."""
    for each in getattr(agent, "context_providers", None) or ():
        if not _is_of_framework(type(each)):
            yield each


def _judges(provider: ContextProvider) -> bool:
    return overrides(provider, "after_run", "agent_framework") or _adds_middleware(provider)


def _adds_middleware(provider: ContextProvider) -> bool:
    """Whether a provider's class adds middleware, which is only known once a run has begun."""
    own = (each for each in type(provider).__mro__ if each is not ContextProvider)
    members = chain.from_iterable(vars(each).values() for each in own)
    functions = _with_named(filter(callable, members))
    return any("extend_middleware" in each.__code__.co_names for each in functions)


def _with_named(candidates: Iterable[Any]) -> Iterator[FunctionType]:
    """Yield functions, and the functions in the same package that they refer to."""
    waiting, seen = list(candidates), set()
    for each in waiting:  # which grows
        function = inspect.unwrap(each)
        if not inspect.isfunction(function) or function in seen:
            continue
        seen.add(function)
        yield function
        named = (function.__globals__.get(name) for name in function.__code__.co_names)
        waiting += (other for other in named if callable(other) and _are_near(function, other))


def _are_near(function: object, other: object) -> bool:
    return _package(function) == _package(other)


def _package(code: object) -> str:
    return (getattr(code, "__module__", None) or "").partition(".")[0]


def _wraps(target: object, name: str) -> bool:
    """Whether a custom class overrides a method of a class that does the whole work."""
    return overrides(target, name, "agent_framework", interfaces=[BaseChatClient])


def _runs_itself(agent: object) -> bool:
    """Whether an agent is of a custom class with a `run` that may check other agents."""
    method = getattr(type(agent), "run", None)
    return method is not None and not _is_of_framework(method)


def _holds_another(owner: object, method: str) -> bool:
    """Whether an object of a custom class holds similar objects, which it may check."""
    if owner is None or _is_of_framework(type(owner)):
        return False
    values = getattr(owner, "__dict__", {}).values()
    held = chain.from_iterable(map(_members, values))
    return any(callable(getattr(each, method, None)) for each in held)


def _members(value: object) -> Iterable[object]:
    if isinstance(value, Mapping):
        return value.values()
    return value if isinstance(value, list | tuple | set) else (value,)


def _is_of_framework(kind: type | Callable[..., Any]) -> bool:
    return kind.__module__.startswith("agent_framework")
