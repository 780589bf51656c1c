"""What a function wants and what kind it is."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from functools import partial
from typing import Any, get_args, get_type_hints

from a2a_adapters import AgentRequest, Reply, TargetError

_FACTORY = (
    "; one that makes a crew says so (def make_crew() -> Crew: ...), or is served by serve_crew"
)


class Kind(Enum):
    """How a function gives its answer."""

    PLAIN = auto()
    COROUTINE = auto()
    GENERATOR = auto()
    ASYNC_GENERATOR = auto()


@dataclass(frozen=True, slots=True)
class Signature:
    """What is known of a function before it is called."""

    kind: Kind
    takes_request: bool
    may_reply: bool


def read_signature(function: Callable[..., Any]) -> Signature:
    """Look at a function that is to be served.

    Raises:
        TargetError: It does not take exactly one argument.
    """
    name = getattr(function, "__name__", repr(function))
    parameters = inspect.signature(function).parameters.values()
    required = [p for p in parameters if _is_required(p)]
    if len(required) != 1 or required[0].kind is inspect.Parameter.KEYWORD_ONLY:
        raise TargetError(
            f"{name}{inspect.signature(function)}: a served function takes one argument by "
            "position, the text as str or the whole AgentRequest" + ("" if parameters else _FACTORY)
        )
    hints = _hints(function)
    hint = hints.get(required[0].name)
    if hint not in (None, str, AgentRequest, Any):
        raise TargetError(
            f"{name}'s argument is annotated {hint}; a served function takes str or AgentRequest"
        )
    is_untyped_request = hint is None and required[0].name == "request"
    return Signature(
        kind=_kind(function),
        takes_request=hint is AgentRequest or is_untyped_request,
        may_reply=_mentions_reply(hints.get("return")),
    )


def _is_required(parameter: inspect.Parameter) -> bool:
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return parameter.default is inspect.Parameter.empty and parameter.kind not in variadic


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    while isinstance(function, partial):
        function = function.func
    try:
        return get_type_hints(function)
    except Exception:  # annotations only a type checker can resolve say nothing here
        return {}


def _kind(function: Callable[..., Any]) -> Kind:
    if inspect.isasyncgenfunction(function):
        return Kind.ASYNC_GENERATOR
    if inspect.iscoroutinefunction(function):
        return Kind.COROUTINE
    if inspect.isgeneratorfunction(function):
        return Kind.GENERATOR
    return Kind.PLAIN


def _mentions_reply(hint: object) -> bool:
    return hint is Reply or any(_mentions_reply(argument) for argument in get_args(hint))
