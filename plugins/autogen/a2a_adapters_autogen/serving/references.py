"""Finds what agents, teams and custom objects refer to.

Nothing is called: attributes are read from objects and classes, and names from the code of
functions.
"""

from __future__ import annotations

import sys
from collections import deque
from functools import cached_property, partial
from itertools import islice
from types import CellType, CodeType, FunctionType, MethodType, ModuleType, NoneType
from typing import TYPE_CHECKING, Any

from autogen_agentchat.tools import AgentTool, TeamTool
from autogen_core import CacheStore
from autogen_core.memory import Memory
from autogen_core.model_context import ChatCompletionContext
from autogen_core.models import ChatCompletionClient
from autogen_core.tools import BaseTool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from autogen_agentchat.base import ChatAgent, Team

FRAMEWORK = ("autogen_agentchat.", "autogen_core.", "autogen_ext.", "a2a_adapters_autogen.")
"""The prefixes of the modules of AutoGen and of this package."""

OF_RUNS = ("_initialized", "_is_running", "_output_message_queue", "_runtime")
"""Attributes of teams that belong to an event loop."""

_COLLECTIONS = (list, tuple, set, frozenset, deque)
_WRAPPERS = (MethodType, cached_property, classmethod, partial, property, staticmethod)
_WRAPPED = ("__func__", "__self__", "args", "fget", "func", "keywords")
"""Attributes of wrappers by which they refer to functions and their arguments."""
_PLAIN = frozenset({NoneType, bool, bytes, float, int, str})
_MOST_OBJECTS = 2_000
"""The most objects to look at, and the most of each collection."""


def is_own(part: object) -> bool:
    """Whether something is a function or a class that is not AutoGen's, or of such a class."""
    owner = part if isinstance(part, type | FunctionType | MethodType) else type(part)
    return not (owner.__module__ or "").startswith(FRAMEWORK)


def contents(value: object) -> list[Any]:
    """Return a collection, and all that is in it and in those within it; or only an object."""
    return _grown(value, lambda _: ())


def parts_of(runner: ChatAgent | Team) -> list[Any]:
    """Return a runner, and all that it has by attributes of AutoGen's classes, nearest first.

    What a tool has is left out, except for an agent or a team behind it, and so is what is kept in
    contexts and memories.
    """
    return _grown(runner, _parts)


def refers_to(part: object, kinds: tuple[type, ...]) -> bool:
    """Whether an object or its code refers to another object of these classes, or to a class."""
    home = _package(type(part).__module__)
    bases = type(part).__mro__
    found = _grown(part, lambda each: _named(each, home))
    return any(
        isinstance(each, kinds) or (isinstance(each, type) and issubclass(each, kinds))
        for each in found
        if each is not part and each not in bases
    )


def _grown(start: object, refer: Callable[[Any], Iterable[Any]]) -> list[Any]:
    """Return an object, and all that can be reached from it, also in collections."""
    found: dict[int, Any] = {}
    waiting = [start]
    for each in waiting:  # which grows
        if len(found) == _MOST_OBJECTS:
            break
        if type(each) not in _PLAIN and id(each) not in found:
            found[id(each)] = each
            waiting += islice(_items(each) or refer(each), _MOST_OBJECTS)
    return list(found.values())


def _items(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, _COLLECTIONS) else ()


def _parts(value: Any) -> Iterable[Any]:
    """Return the parts of an object of a class of AutoGen, or of one derived from it."""
    is_known = any(each.__module__.startswith(FRAMEWORK) for each in type(value).__mro__)
    attributes = getattr(value, "__dict__", {}) if is_known else {}
    match value:
        case ChatCompletionContext() | Memory():
            return ()
        case BaseTool() if not isinstance(value, AgentTool | TeamTool):
            return ()
        case ChatCompletionClient():
            inner = (ChatCompletionClient, CacheStore)
            return [each for each in attributes.values() if isinstance(each, inner)]
    return [each for name, each in attributes.items() if name not in OF_RUNS]


def _named(value: Any, home: str) -> Iterable[Any]:
    """Return what an object refers to, with its class and code, unless another package has it."""
    if isinstance(value, _WRAPPERS):
        return [getattr(value, name, None) for name in _WRAPPED]
    if isinstance(value, FunctionType):
        return _in_code(value) if _is_near(value.__module__, home) else ()
    kind = value if isinstance(value, type) else type(value)
    if isinstance(value, ModuleType) or not _is_near(kind.__module__, home):
        return ()
    own = [each for each in kind.__mro__ if _is_near(each.__module__, home)]
    spaces = [getattr(value, "__dict__", {}), *map(vars, own)]
    return [each for space in spaces for each in space.values()]


def _in_code(function: FunctionType) -> Iterator[Any]:
    """Yield the variables and modules that a function names, and what it names in these modules."""
    yield from map(_content, function.__closure__ or ())
    yield from function.__defaults__ or ()
    names = _names(function.__code__)
    for name in names:
        found = function.__globals__.get(name, sys.modules.get(name))
        yield found
        if isinstance(found, ModuleType):
            yield from (vars(found)[each] for each in names if each in vars(found))


def _names(code: CodeType) -> set[str]:
    within = (each for each in code.co_consts if isinstance(each, CodeType))
    return set(code.co_names).union(*map(_names, within))


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
    file = getattr(sys.modules.get(module or ""), "__file__", None)
    return "-packages" not in (file or "")


def _package(module: str) -> str:
    return module.partition(".")[0]
