"""Compares values with the annotations of a class or a function, without imports for them."""

from __future__ import annotations

import builtins
import collections.abc
import inspect
import sys
import typing
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import fields
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

_NAMES: dict[object, str] = {
    bool: "True or False",
    float: "a number",
    int: "a whole number",
    str: "a string",
}
_LISTS = (collections.abc.Collection, collections.abc.Sequence, frozenset, list)
_BY_NAME = frozenset(
    {"AgentDescription", "Auth", "Authenticator", "Card", "Limits", "OutboundPolicy", "Path"}
    | {"PushNotificationConfigStore", "PushOptions", "RemoteAgent", "RemoteOptions", "RetryPolicy"}
    | {"SSLContext", "ServerOptions", "Skill", "TaskStore", "UsageLimits", "VersionedTaskStore"}
    | {"socket"}
)
"""Classes, but no protocols, that are recognised by name if only type checkers import them."""

_STRINGS = "a list of strings"

_OTHER = ""
"""Says that a value is of another kind than an annotation."""


@cache
def hints_of_fields(kind: Any) -> dict[str, Hint]:
    """Return the annotations of a dataclass."""
    names = _Names(vars(sys.modules[kind.__module__]))
    return {each.name: Hint(names.read(each.type)) for each in fields(kind)}


@cache
def hints_of_arguments(function: Any) -> dict[str, Hint]:
    """Return the annotations of a function's arguments."""
    names = _Names(function.__globals__)
    given = function.__annotations__.items()
    return {name: Hint(names.read(each)) for name, each in given if name != "return"}


class Hint:
    """An annotation.

    Attributes:
        is_number: Whether it allows numbers.
    """

    def __init__(self, hint: Any) -> None:
        self._hint = hint
        self._choices = _choices(hint)
        self._types = frozenset(each for each in self._choices if type(each) is type)
        """Classes of which a value is certainly right: most values need no other look."""
        self.is_number = not self._types.isdisjoint({float, int})

    def mismatch(self, value: Any) -> str | None:
        """Return which values the annotation allows, and why not this one; None if it does.

        The text does not contain the value, which may be secret, unless numbers or one of several
        words are allowed.
        """
        if type(value) in self._types or (problem := _problem(value, self._hint)) is None:
            return None
        kinds = [each for each in self._choices if each is not NoneType]
        if isinstance(value, str) and any(_name(each) == _STRINGS for each in kinds):
            return f"{_STRINGS}, such as [{value!r}]"
        is_shown = self.is_number or any(get_origin(each) is Literal for each in kinds)
        given = f"not {value!r}" if is_shown else f"not {_kind_of(value)}"
        return f"{' or '.join(map(_name, kinds))}, {problem or given}"


class _Names:
    """The names in the annotations of a module."""

    def __init__(self, module: Mapping[str, Any]) -> None:
        self._places = (module, vars(builtins), vars(collections.abc), vars(typing))

    def read(self, annotation: Any) -> Any:
        """Evaluate an annotation, as `typing.get_type_hints`, which refuses unknown names."""
        if not isinstance(annotation, str):
            return annotation
        return eval(annotation, {}, self)  # type: ignore[arg-type]  # noqa: S307 - it is code

    def __getitem__(self, name: str) -> Any:
        for place in self._places:
            if name in place:
                return self.read(place[name])
        return _Unknown(name, (), {})


class _Unknown(type):
    """A class or an alias that only type checkers import."""

    def __getattr__(cls, name: str) -> _Unknown:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Unknown(name, (), {})

    def __getitem__(cls, _: object) -> _Unknown:
        return cls


def _choices(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in {Union, UnionType} else (hint,)


def _problem(value: Any, hint: Any) -> str | None:
    """Return what is wrong with a value, `_OTHER` if it is of another kind, or None."""
    problems = [_problem_of(value, each) for each in _choices(hint)]
    return None if None in problems else max(map(str, problems))


def _problem_of(value: Any, hint: Any) -> str | None:
    kind, inner = get_origin(hint) or hint, get_args(hint)
    if kind is Callable:
        return _problem_of_function(value, *inner) if callable(value) else _OTHER
    if kind is Mapping:
        is_mapping = isinstance(value, Mapping)
        return _problem_inside(value.items(), inner) if is_mapping else _OTHER
    if kind in _LISTS:
        is_list = isinstance(value, Collection) and not isinstance(value, str | bytes | Mapping)
        return _problem_inside(((each,) for each in value), inner) if is_list else _OTHER
    return None if _is_of(value, kind, inner) else _OTHER


def _problem_inside(items: Iterable[tuple[Any, ...]], hints: tuple[Any, ...]) -> str | None:
    for item in items:
        for each, hint in zip(item, hints, strict=False):
            if _problem(each, hint) is not None:
                return f"but it contains {_kind_of(each)}"
    return None


def _problem_of_function(function: Any, arguments: Any = ..., result: Any = Any) -> str | None:
    may_wait = any(each is Any or get_origin(each) is Awaitable for each in _choices(result))
    if inspect.iscoroutinefunction(function) and not may_wait:
        return "but it is async"
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # it is written in C
        return None
    try:
        signature.bind(*(arguments if arguments is not ... else ()))
    except TypeError:
        return None if arguments is ... else f"but it takes {signature}"
    return None


def _is_of(value: Any, kind: Any, inner: tuple[Any, ...]) -> bool:  # noqa: PLR0911 - a kind each
    if kind is Literal:
        return value in inner
    if kind is type:
        known = [each for each in inner if not isinstance(each, _Unknown)]
        return isinstance(value, type) and all(each in value.__mro__ for each in known)
    if isinstance(kind, _Unknown):
        names = {each.__name__ for each in type(value).__mro__}
        return kind.__name__ not in _BY_NAME or kind.__name__ in names
    if not isinstance(kind, type) or kind is Any:
        return True
    if hasattr(kind, "__total__"):  # a TypedDict
        return isinstance(value, Mapping)
    if getattr(kind, "_is_protocol", False):
        methods = [name for name in vars(kind) if not name.startswith("_")]
        return not isinstance(value, type) and all(hasattr(value, name) for name in methods)
    if kind in {int, float} and isinstance(value, bool):
        return False
    return isinstance(value, int | float if kind is float else kind)


def _name(hint: Any) -> str:
    """Describe the values that an annotation allows."""
    kind, inner = get_origin(hint) or hint, get_args(hint)
    if kind is Literal:
        return " or ".join(map(repr, inner))
    if kind is Callable:
        return _name_of_function(inner[0] if inner else ...)
    if kind is Mapping or hasattr(kind, "__total__"):
        return "a mapping"
    if kind in _LISTS:
        return _STRINGS if not inner or inner[0] in {str, object} else f"a list of {_name(*inner)}"
    if kind is type:
        return "a class"
    return _NAMES.get(kind) or f"{getattr(kind, '__name__', kind)}(...)"


def _name_of_function(arguments: Any) -> str:
    if arguments is ...:
        return "a function"
    names = [getattr(each, "__name__", "Any") for each in arguments]
    if names == ["AgentRequest"]:
        return "a function of the request, such as lambda request: ..."
    values = ["a value" if name == "Any" else name for name in names]
    return f"a function of {' and '.join(values)}" if values else "a function without arguments"


def _kind_of(value: object) -> str:
    return f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__
