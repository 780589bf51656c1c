"""Inspects the signature of a function."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

from a2a_adapters import AgentRequest, Caller, Reply, TargetError
from a2a_adapters_functions.serving.arguments import Arguments
from a2a_adapters_functions.serving.results import Results
from a2a_adapters_functions.serving.schema import adapter_of

if TYPE_CHECKING:
    from inspect import Parameter

_FACTORY = (
    "; one that makes a crew says so (def make_crew() -> Crew: ...), or is served by serve_crew"
)
_TAKES = "a served function takes the text, the whole AgentRequest, or arguments with types"
_EMPTY = inspect.Parameter.empty
_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


class Kind(Enum):
    """The kinds of functions."""

    PLAIN = auto()
    COROUTINE = auto()
    GENERATOR = auto()
    ASYNC_GENERATOR = auto()


@dataclass(frozen=True, slots=True)
class Signature:
    """The signature of a function.

    Attributes:
        name: The function's name.
        kind: Its kind.
        may_reply: Whether it may answer with a bare message.
        results: The declared type of its results.
        request: The parameter that receives the `AgentRequest`; "" if there is none.
        caller: The parameter that receives the `Caller`; "" if there is none.
        text: The parameter that receives the whole text; "" if there is none.
        arguments: Reads typed arguments; None if the message sets only the text or the request.
        of: The parameters.
    """

    name: str
    kind: Kind
    may_reply: bool
    results: Results
    request: str
    caller: str
    text: str
    arguments: Arguments | None
    of: inspect.Signature

    def bind(self, values: Mapping[str, Any]) -> inspect.BoundArguments:
        """Return the arguments of a call."""
        bound = self.of.bind_partial()
        bound.arguments.update(
            {name: values[name] for name in self.of.parameters if name in values}
        )
        return bound


def read_signature(function: Callable[..., Any]) -> Signature:
    """Inspect a function.

    Raises:
        TargetError: A message cannot set its arguments, or JSON cannot express one.
    """
    name = getattr(function, "__name__", repr(function))
    signature = inspect.signature(function)
    parameters = [p for p in signature.parameters.values() if p.kind not in _VARIADIC]
    hints = _hints(function)
    caller = next((p.name for p in parameters if _mentions(hints.get(p.name), Caller)), "")
    parameters = [p for p in parameters if p.name != caller]
    request = next((p.name for p in parameters if _is_request(p, hints)), "")
    required = [p for p in parameters if p.default is _EMPTY and p.name != request]
    fixed = _fixed(function)
    optional = [p for p in parameters if p.default is not _EMPTY and p.name not in fixed]
    settable = [p for p in optional if p.name != request and _is_settable(p, hints)]
    is_alone = request and not required and not settable
    if not (required or settable or request) or (
        is_alone and signature.parameters[request].kind is inspect.Parameter.KEYWORD_ONLY
    ):
        shown = f"{name}{signature}"
        raise TargetError(f"{shown}: {_TAKES}" + ("" if signature.parameters else _FACTORY))
    is_text = not (request or settable) and len(required) == 1 and _is_text(required[0], hints)
    arguments = None
    if not (is_alone or is_text):
        arguments = _arguments(name, required, settable, hints, takes_request=bool(request))
    kind = _kind(function)
    returns = hints.get("return")
    is_returned = kind in (Kind.PLAIN, Kind.COROUTINE) and not isinstance(returns, str)
    return Signature(
        name=name,
        kind=kind,
        may_reply=_mentions(returns, Reply),
        results=Results(name, returns if is_returned else None),
        request=request,
        caller=caller,
        text=required[0].name if is_text else "",
        arguments=arguments,
        of=signature,
    )


def _arguments(
    name: str,
    required: list[Parameter],
    settable: list[Parameter],
    hints: Mapping[str, Any],
    *,
    takes_request: bool,
) -> Arguments:
    typed = {}
    for parameter in (*required, *settable):
        hint = hints.get(parameter.name, str if len(required) == 1 else None)
        if hint is None:
            raise TargetError(f"{name}: annotate {parameter.name}; {_TAKES}")
        if isinstance(hint, str):
            raise TargetError(
                f"{name}: the type {hint} of {parameter.name} is unknown in the function's module; "
                "define or import it there"
            )
        if adapter_of(hint) is None:
            raise TargetError(
                f"{name}'s {parameter.name} is annotated {hint}, which JSON cannot express; "
                + _TAKES
            )
        typed[parameter.name] = hint
    names = frozenset(parameter.name for parameter in required)
    return Arguments(typed, names, takes_request=takes_request)


def _is_request(parameter: Parameter, hints: Mapping[str, Any]) -> bool:
    hint = hints.get(parameter.name)
    if hint is None or isinstance(hint, str):
        return parameter.name == "request" and parameter.default is _EMPTY
    return _mentions(hint, AgentRequest)


def _is_text(parameter: Parameter, hints: Mapping[str, Any]) -> bool:
    is_by_position = parameter.kind is not inspect.Parameter.KEYWORD_ONLY
    return is_by_position and hints.get(parameter.name) in (None, str, Any)


def _is_settable(parameter: Parameter, hints: Mapping[str, Any]) -> bool:
    """Whether callers may set a parameter with a default: JSON must express its type."""
    hint = hints.get(parameter.name, Any)
    is_private = parameter.name.startswith("_")
    return (
        not is_private and hint is not Any and not isinstance(hint, str) and bool(adapter_of(hint))
    )


def _fixed(function: Callable[..., Any]) -> set[str]:
    """Return the parameters that a `partial` sets."""
    names: set[str] = set()
    while isinstance(function, partial):
        names |= function.keywords.keys()
        function = function.func
    return names


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the annotations; those that only type checkers can resolve remain strings."""
    while isinstance(function, partial):
        function = function.func
    try:
        return get_type_hints(function, include_extras=True)
    except Exception:  # evaluating an annotation may raise anything
        return {
            name: _hint(function, each) for name, each in inspect.get_annotations(function).items()
        }


def _hint(function: Callable[..., Any], annotation: object) -> Any:
    alone = SimpleNamespace(__annotations__={"it": annotation})
    try:
        return get_type_hints(alone, getattr(function, "__globals__", {}), include_extras=True)[
            "it"
        ]
    except Exception:
        return annotation


def _kind(function: Callable[..., Any]) -> Kind:
    if inspect.isasyncgenfunction(function):
        return Kind.ASYNC_GENERATOR
    if inspect.iscoroutinefunction(function):
        return Kind.COROUTINE
    if inspect.isgeneratorfunction(function):
        return Kind.GENERATOR
    return Kind.PLAIN


def _mentions(hint: object, kind: type) -> bool:
    return hint is kind or any(_mentions(argument, kind) for argument in get_args(hint))
