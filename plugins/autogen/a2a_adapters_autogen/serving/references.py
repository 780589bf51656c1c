"""Finds what agents, teams and custom objects refer to.

No code of the user is run: attributes are read from objects and classes, and names from the code of
functions. `isinstance` is asked only of objects of AutoGen's classes, as others may compute theirs.
"""

from __future__ import annotations

import asyncio
import gc
import queue
import sys
from collections import deque
from dis import get_instructions
from functools import cached_property, lru_cache, partial, partialmethod, singledispatchmethod
from itertools import chain, cycle, islice
from types import (
    BuiltinMethodType,
    CellType,
    CodeType,
    FunctionType,
    GeneratorType,
    MappingProxyType,
    MethodType,
    MethodWrapperType,
    ModuleType,
    NoneType,
    SimpleNamespace,
)
from typing import TYPE_CHECKING, Any

from autogen_agentchat.tools import AgentTool, TeamTool
from autogen_core import CacheStore
from autogen_core.memory import Memory
from autogen_core.model_context import ChatCompletionContext
from autogen_core.models import ChatCompletionClient
from autogen_core.tools import BaseTool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from autogen_agentchat.base import ChatAgent, Team

FRAMEWORK = ("autogen_agentchat.", "autogen_core.", "autogen_ext.", "a2a_adapters_autogen.")
"""The prefixes of the modules of AutoGen and of this package."""

OF_RUNS = ("_initialized", "_is_running", "_output_message_queue", "_runtime")
"""Attributes of teams that belong to an event loop."""

_COLLECTIONS = (dict, list, tuple, set, frozenset, deque)
_ITERATED: tuple[Iterable[Any], ...] = ([], (), {}.values(), set())
_HOLDERS: tuple[type, ...] = (
    MappingProxyType, SimpleNamespace, asyncio.Queue, cycle, queue.Queue,
    *(type(iter(each)) for each in _ITERATED),
)  # fmt: skip
"""Classes of Python whose objects hold others."""
_WRAPPERS: tuple[type, ...] = (
    BuiltinMethodType, GeneratorType, MethodType, MethodWrapperType, cached_property, classmethod,
    partial, partialmethod, property, singledispatchmethod, staticmethod, type(lru_cache(repr)),
)  # fmt: skip
"""Classes of Python whose objects run functions, with what these belong to."""
_GLOBALS = ("LOAD_GLOBAL", "LOAD_NAME")
_IMPORTS = ("IMPORT_FROM", "IMPORT_NAME")
_PLAIN = frozenset({NoneType, bool, bytes, float, int, str})
_MOST_OBJECTS = 2_000
"""The most objects to look at, and the most of each collection."""


def is_own(part: object) -> bool:
    """Whether something is a function or a class that is not AutoGen's, or of such a class."""
    kind: Any = type(part)
    owner: Any = part if issubclass(kind, (type, FunctionType, MethodType)) else kind
    return not (owner.__module__ or "").startswith(FRAMEWORK)


@lru_cache(1000)
def is_known(kind: Any) -> bool:
    """Whether a class is AutoGen's, or derived from one."""
    return any(each.__module__.startswith(FRAMEWORK) for each in kind.__mro__)


def is_a(part: object, kinds: tuple[type, ...]) -> bool:
    """Whether something is of one of these classes of AutoGen."""
    kind: Any = type(part)
    return is_known(kind) and issubclass(kind, kinds)


def held_by(owner: object) -> list[Any]:
    """Return what an object has in its attributes, and in custom objects and collections there."""
    home = _package(type(owner).__module__)
    return _grown(vars(owner), lambda each: _attributes(each, home))


def parts_of(runner: ChatAgent | Team) -> list[Any]:
    """Return a runner, and all that it has by attributes of AutoGen's classes.

    What a tool has is left out, except for an agent or a team behind it, and so is what is kept in
    contexts and memories.
    """
    return _grown(runner, _parts)


def refers_to(part: object, kinds: tuple[type, ...]) -> bool:
    """Whether an object or its code refers to another object of these classes, or to a class."""
    kind: Any = type(part)
    home = _package(kind.__module__)
    known = {id(part), *map(id, kind.__mro__)}
    others = (
        each for each in _grown(part, lambda each: _named(each, home)) if id(each) not in known
    )
    return any(
        is_a(each, kinds)
        or (issubclass(type(each), type) and is_known(each) and issubclass(each, kinds))
        for each in others
    )


def may_call(method: object, classes: Iterable[type]) -> bool:
    """Whether a method may call its older definitions in some classes."""
    if not isinstance(method, FunctionType) or method.__closure__:  # as a decorator or `super` has
        return True
    return not _names(method.__code__).isdisjoint({"super", *(each.__name__ for each in classes)})


def _grown(start: object, refer: Callable[[Any], Iterable[Any]]) -> list[Any]:
    """Return an object, and all that can be reached from it, also in collections.

    One object after another is taken from each place, so that none of them uses up the limit.
    """
    found: dict[int, Any] = {}
    places = deque([iter([start])])
    while places and len(found) < _MOST_OBJECTS:
        place = places.popleft()
        for each in place:
            if type(each) not in _PLAIN and id(each) not in found:
                found[id(each)] = each
                within = chain(islice(_items(each), _MOST_OBJECTS), refer(each))
                places += iter(list(within)), place
                break
    return list(found.values())


def _items(value: Any) -> Iterable[Any]:
    """Yield what is in a collection, whose class may override its methods."""
    for kind in _COLLECTIONS:
        if issubclass(type(value), kind):
            return dict.values(value) if kind is dict else kind.__iter__(value)
    return ()


def _parts(value: Any) -> Iterable[Any]:
    """Return the parts of an object of a class of AutoGen, or of one derived from it."""
    kind: Any = type(value)
    if not is_known(kind):
        return ()
    attributes = getattr(value, "__dict__", {})
    match value:
        case ChatCompletionContext() | Memory():
            return ()
        case BaseTool() if not isinstance(value, AgentTool | TeamTool):
            return ()
        case ChatCompletionClient():
            inner = (ChatCompletionClient, CacheStore)
            return [each for each in attributes.values() if is_a(each, inner)]
    return [each for name, each in list(attributes.items()) if name not in OF_RUNS]


def _named(value: Any, home: str) -> Iterable[Any]:
    """Return what an object refers to, with its class and code, unless another package has it."""
    kind: Any = type(value)
    if issubclass(kind, FunctionType):
        return _in_code(value) if _is_near(value.__module__, home) else ()
    if issubclass(kind, type):
        near = (each for each in value.__mro__ if _is_near(each.__module__, home))
        return [each for kind in near for each in list(vars(kind).values())]
    return gc.get_referents(value) if issubclass(kind, _WRAPPERS) else _attributes(value, home)


def _attributes(value: Any, home: str) -> Iterable[Any]:
    """Return what an object has, and its class, unless another package has made it."""
    kind: Any = type(value)
    is_seen = _is_near(kind.__module__, home) and not issubclass(kind, (ModuleType, type))
    return gc.get_referents(value) if is_seen or issubclass(kind, _HOLDERS) else ()


def _in_code(function: FunctionType) -> Iterator[Any]:
    """Yield what a function has, and the variables that it names: its own and those of modules."""
    yield from map(_content, function.__closure__ or ())
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()
    code, own = function.__code__, function.__globals__
    found = [own[name] for name in _names(code, _GLOBALS) if name in own]
    found += _imported(own.get("__package__") or "", _names(code, _IMPORTS))
    seen = set(map(id, found))
    for each in found:  # which grows
        yield each
        variables = _variables(each)
        inner = [variables[name] for name in _names(code) if name in variables]
        found += (within for within in inner if id(within) not in seen)
        seen.update(map(id, inner))


def _imported(package: str, names: Iterable[str]) -> list[ModuleType]:
    """Return the modules with these names, which may be relative to a package."""
    parts = package.split(".")
    places = ["", *(".".join([*parts[:end], ""]) for end in range(1, len(parts) + 1))]
    found = (sys.modules.get(place + name) for place in places for name in names)
    return [each for each in found if each is not None]


def _variables(module: object) -> Mapping[str, Any]:
    """Return the variables of a module, also of one that would be loaded when it is used."""
    is_module = issubclass(type(module), ModuleType)
    return object.__getattribute__(module, "__dict__") if is_module else {}


@lru_cache(1000)
def _names(code: CodeType, operations: tuple[str, ...] = ()) -> set[str]:
    """Return the names in some code that these operations use, or all names."""
    within = (each for each in code.co_consts if isinstance(each, CodeType))
    named = (each.argval for each in get_instructions(code) if each.opname in operations)
    return set(named if operations else code.co_names).union(
        *(_names(each, operations) for each in within)
    )


def _content(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # it is not set yet
        return None


def _is_near(module: str | None, home: str) -> bool:
    """Whether a module is of a package, or the user's: neither of Python nor installed."""
    package = _package(module or "builtins")
    if package == home or package in sys.stdlib_module_names:
        return package == home
    file = _variables(sys.modules.get(module or "")).get("__file__")
    return "-packages" not in (file or "")


def _package(module: str) -> str:
    return module.partition(".")[0]
