"""Finds the objects that a runnable, and the code that it runs, refer to.

LangGraph's `get_subgraphs` yields one graph for each node at most. Agents and models are also in
variables that a function names, in attributes of these, in other functions, lists and mappings.
"""

from __future__ import annotations

import inspect
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache, partial
from itertools import takewhile
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MappingProxyType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any

from langchain_core.language_models import BaseLanguageModel
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool

from a2a_adapters_langchain.serving.packages import (
    is_installed,
    is_library,
    is_of_langchain,
    package_of,
)
from a2a_adapters_langchain.serving.schema import is_graph

_MOST_OBJECTS = 10_000
"""The most objects to look at."""


_WRAPPERS = (staticmethod, type(lru_cache(repr)))
"""Objects around functions, beside those that are functions themselves."""

_COLLECTIONS = (list, tuple, set, frozenset, deque, dict, MappingProxyType)
"""Collections whose members can be read without code of the user, which other mappings may run."""

_TOOLS_ONLY = "deepagents."
"""Where middleware keeps agents that only its tools call."""


def reachable(value: object, *, with_tools: bool = False) -> list[Any]:
    """Return a value, and all that it refers to, nearest first.

    Args:
        value: A runnable, or a function.
        with_tools: Whether to include the objects that tools refer to.
    """
    todo: list[Any] = [value]
    seen: dict[object, object] = {}
    for each in todo:  # it grows
        key = identity(each)
        if key not in seen and len(seen) < _MOST_OBJECTS:
            seen[key] = each
            todo += _referred(each, with_tools=with_tools)
    return list(seen.values())


def identity(value: object) -> object:
    """Return the identity of a value; Python makes a new bound method whenever one is read."""
    if isinstance(value, MethodType):
        return id(value.__func__), id(value.__self__)
    return id(value)


def _referred(value: Any, *, with_tools: bool) -> Iterable[Any]:  # noqa: PLR0911 - a kind each
    """Return the objects that a node, or an object that it refers to, may call."""
    if isinstance(value, MethodType):
        return _of_method(value, with_tools=with_tools)
    if isinstance(value, FunctionType):
        if with_tools or not is_of_create_agent(value):  # which refers to the tools
            return _captured(value)
        # Middleware around model calls is kept in functions.
        return [each for name, each in _variables(value) if name == "model" or is_function(each)]
    if isinstance(value, partial):
        return [value.func, *value.args, *value.keywords.values()]
    if isinstance(value, _COLLECTIONS):
        return _members(value)
    if isinstance(value, Runnable):
        return _parts(value, with_tools=with_tools)
    if isinstance(value, _WRAPPERS):
        return [value.__wrapped__]
    call = _call_of(value)
    return [MethodType(call, value)] if call else ()


def _members(collection: Any) -> Iterable[Any]:
    """Return the members of a collection, or the values of a mapping."""
    kind = next(each for each in _COLLECTIONS if isinstance(collection, each))
    if kind in (dict, MappingProxyType):
        return [*kind.values(collection)]
    return [*kind.__iter__(collection)]


def _of_method(method: MethodType, *, with_tools: bool) -> Iterable[Any]:
    """Return the objects that a method names, and all of its owner's unless it names them."""
    owner, home = method.__self__, method.__func__.__module__ or ""
    named = _captured(method.__func__, owner)
    keeps_tools = not with_tools and type(owner).__module__.startswith(_TOOLS_ONLY)
    if keeps_tools or not (is_library(home) or isinstance(owner, Runnable)):
        return named
    return [*named, owner, *_attributes(owner)]


def _parts(runnable: Any, *, with_tools: bool) -> Iterable[Any]:
    if isinstance(runnable, BaseLanguageModel):
        return own_methods(runnable)
    if is_graph(runnable):
        inner = (each for _, each in runnable.get_subgraphs())  # whose text is streamed
        nodes = [*(node.bound for node in runnable.nodes.values()), *inner]
        return [each for each in nodes if with_tools or not hasattr(each, "tools_by_name")]
    return _attributes(runnable) if with_tools or not isinstance(runnable, BaseTool) else ()


def own_methods(runnable: Runnable[Any, Any]) -> list[MethodType]:
    """Return the methods that a custom class overrides in a class of LangChain's."""
    own = takewhile(lambda each: not is_of_langchain(each.__module__), type(runnable).__mro__)
    found = (value for each in own for value in vars(each).values())
    return [MethodType(value, runnable) for value in found if isinstance(value, FunctionType)]


def _attributes(owner: object) -> Iterable[Any]:
    """Return the values of an object's attributes."""
    if isinstance(owner, type):
        return ()
    private = getattr(owner, "__pydantic_private__", None)  # of a model of pydantic
    return [*getattr(owner, "__dict__", {}).values(), *(private or {}).values()]


def _captured(function: Callable[..., Any], owner: object = None) -> list[Any]:
    """Return the variables that a function names, and those of their attributes that it names.

    Code of other installed packages that it calls is left out.

    Args:
        function: The function.
        owner: The object whose method it is.
    """
    if not isinstance(function, FunctionType):  # it is written in C
        return []
    cells = [each for _, each in _variables(function)]
    known = function.__globals__
    home = known.get("__name__", "")
    if is_of_langchain(home):
        return cells
    names = sorted(names_in(function.__code__))
    found = [owner, *cells, *(function.__defaults__ or ())]
    if "super" in names:
        found += [inherited(function, owner, name) for name in names]
    found += [*(function.__kwdefaults__ or {}).values()]
    found += [known[name] for name in names if name in known]
    seen: set[int] = set()
    for each in found:  # it grows: `deps.inner.agent`, `checks[0].model`
        if id(each) in seen or len(found) > _MOST_OBJECTS:
            continue
        seen.add(id(each))
        if isinstance(each, _COLLECTIONS):
            found += _members(each)
        elif _has_attributes(each, home):
            found += [attribute(each, name) for name in _present(each, names)]
    return [*cells, *(each for each in found if not _is_foreign(each, home))]


def _variables(function: FunctionType) -> Iterator[tuple[str, object]]:
    return ((name, cell.cell_contents) for name, cell in cells_of(function) if is_set(cell))


def code_of(value: object) -> CodeType | None:
    """Return the code of a function or a method; None for other objects."""
    function = value.__func__ if isinstance(value, MethodType) else value
    return function.__code__ if isinstance(function, FunctionType) else None


def home_of(value: object) -> str:
    """Return the module in which a function was written, or the class of an object, or a class.

    A decorator such as `functools.wraps` gives its own function the `__module__` of the user's.
    """
    function = value.__func__ if isinstance(value, MethodType) else value
    if isinstance(function, FunctionType):
        found = function.__globals__.get("__name__")
    elif isinstance(value, type | BuiltinFunctionType):
        found = value.__module__
    else:
        found = type(value).__module__
    return found if isinstance(found, str) else ""


def is_function(value: object) -> bool:
    """Whether it is a function or a method."""
    return isinstance(value, FunctionType | MethodType)


def names_in(code: CodeType) -> set[str]:
    """Return the names of global variables and attributes in a function, and in those within it."""
    within = (each for each in code.co_consts if isinstance(each, CodeType))
    return set(code.co_names).union(*map(names_in, within))


def _has_attributes(value: object, home: str) -> bool:
    """Whether a function of a module may call attributes of a value."""
    if isinstance(value, ModuleType):
        package = package_of(value.__name__)
        return package in (package_of(home), "a2a_adapters") or not is_installed(package)
    is_known = isinstance(value, Runnable | FunctionType | MethodType | partial)
    kind = value if isinstance(value, type) else type(value)
    return not is_known and kind.__module__ != "builtins"


def _present(owner: object, names: Iterable[str]) -> list[str]:
    """Return the names that an object has as attributes, without running code."""
    spaces: list[Mapping[str, Any]] = [vars(each) for each in type(owner).__mro__]
    held = next((space["__dict__"] for space in spaces if "__dict__" in space), None)
    if isinstance(held, GetSetDescriptorType | MemberDescriptorType):
        spaces.append(held.__get__(owner))
    if isinstance(owner, type):
        spaces += map(vars, owner.__mro__)
    return [name for name in names if any(name in space for space in spaces)]


def attribute(owner: object, name: str) -> object:
    """Return an attribute without running code; a method or property as a bound method."""
    found = inspect.getattr_static(owner, name, None)
    if isinstance(found, MemberDescriptorType):  # of a class with `__slots__`
        return getattr(owner, name, None)
    if isinstance(found, property):
        found = found.fget
    if isinstance(found, classmethod):
        found = found.__wrapped__
    is_method = isinstance(found, FunctionType) and not isinstance(owner, ModuleType)
    return MethodType(found, owner) if is_method else found


def inherited(function: FunctionType, owner: object, name: str) -> MethodType | None:
    """Return the method that a method finds by `super()`, as far as it is known."""
    place = dict(cells_of(function)).get("__class__")
    order = type(owner).__mro__
    if place is None or place.cell_contents not in order:
        return None
    after = order[order.index(place.cell_contents) + 1 :]
    found = next((vars(each)[name] for each in after if name in vars(each)), None)
    return MethodType(found, owner) if isinstance(found, FunctionType) else None


def _is_foreign(value: object, home: str) -> bool:
    """Whether a value is code of an installed package, other than that of a module."""
    if isinstance(value, MethodType) and isinstance(value.__self__, Runnable):
        return False  # such as that of a model
    code = value if isinstance(value, FunctionType | MethodType) else _call_of(value)
    if code is None or isinstance(value, Runnable):
        return False
    package = package_of(code.__module__ or "")
    return package != package_of(home) and is_installed(package)


def _call_of(value: object) -> FunctionType | None:
    """Return the function that runs if an object is called."""
    spaces = map(vars, type(value).__mro__)
    call = next((space["__call__"] for space in spaces if "__call__" in space), None)
    return call if isinstance(call, FunctionType) else None


def is_of_create_agent(function: FunctionType) -> bool:
    """Whether LangChain has made a function for a node of `create_agent`."""
    return function.__module__ == "langchain.agents.factory"


def cells_of(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """Yield the names and cells of the variables of enclosing scopes."""
    return zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)


def is_set(cell: Any) -> bool:
    """Whether a cell has a value."""
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False
