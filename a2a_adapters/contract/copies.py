"""Copies of a framework's objects for one run, and their attributes before it."""

from __future__ import annotations

import copy
import dataclasses
from collections import Counter, OrderedDict, defaultdict, deque
from functools import lru_cache, partial
from types import BuiltinMethodType, CellType, FunctionType, MethodType, NoneType
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

__all__ = ["Copies", "SavedAttributes"]

_Value = TypeVar("_Value")

_FUNCTIONS = (BuiltinMethodType, FunctionType, MethodType, partial)
_MAPPINGS = (dict, defaultdict, OrderedDict, Counter)
_SEQUENCES = (list, deque, bytearray)
_CONTAINERS = frozenset({*_MAPPINGS, *_SEQUENCES, set})
_PLAIN = frozenset({NoneType, bool, bytes, complex, float, int, str})
"""Types of values that refer to nothing, of which containers may have many."""
_OF_MODELS = ("__pydantic_private__", "__pydantic_extra__")
"""Where a model of pydantic has other attributes than its fields."""
_OF_FUNCTIONS = ("__annotations__", "__doc__", "__kwdefaults__", "__module__", "__qualname__")
"""What a new function does not get from the code of another one."""


class Copies:
    """Copies objects so that a run changes nothing that another one sees.

    Objects of the given classes are copied with their attributes. Containers are copied with all
    that is in them, and so are dataclasses. Methods, partial functions and closures of copied
    objects then belong to the copies. All other objects are shared, also those that cannot be
    copied. What occurs several times is copied once.

    Args:
        kinds: The classes of the objects to copy.
    """

    def __init__(self, *kinds: type) -> None:
        self._kinds = kinds
        self._made: dict[int, tuple[object, Any]] = {}
        """The copies, with their originals, by the ids of these."""
        self._seen: dict[int, object] = {}
        """The values that were looked through, by their ids."""

    @property
    def made(self) -> Iterator[Any]:
        """The copies."""
        return (made for _, made in list(self._made.values()))

    def of(self, value: _Value) -> _Value:
        """Return the copy of a value, or the value itself if it is shared."""
        if type(value) in _PLAIN:
            return value
        # All copies are made before they refer to one another, and to functions that refer to them.
        for made in self._begin(value):
            _replace(made, self._final)
        result: Any = self._final(value)
        return result  # type: ignore[no-any-return]

    def keep(self, value: object) -> None:
        """Share an object that would be copied otherwise."""
        self._made[id(value)] = value, value

    def _begin(self, value: object) -> list[Any]:
        """Copy all objects that can be reached, without what is in them."""
        begun, waiting = list[Any](), [value]
        while waiting:
            each = waiting.pop()
            if id(each) in self._made or id(each) in self._seen:
                continue
            self._seen[id(each)] = each
            if isinstance(each, _FUNCTIONS):
                waiting += self._owners(each)
            elif not self._is_copied(each):
                waiting += _children(each) if _is_frozen(each) else ()
            elif (made := self._copy(each)) is not each:
                begun.append(self._add(each, made))
                waiting += _children(made)
        return begun

    def _is_copied(self, value: object) -> bool:
        return _is_mutable(value) or isinstance(value, self._kinds)

    def _copy(self, value: Any) -> Any:
        """Return a copy without what is in it, or the value if it is a dataclass without one."""
        try:
            return copy.copy(value)
        except Exception:  # its class may raise anything
            if isinstance(value, self._kinds):
                raise
            return value

    def _owners(self, function: Any) -> list[Any]:
        """Return what a function belongs to; a container of the user's is shared."""
        match function:
            case partial():
                return [function.func, *function.args, *function.keywords.values()]
            case FunctionType():
                found = list(map(_content, function.__closure__ or ()))
            case _:
                found = [function.__self__]
        return [each for each in found if callable(each) or isinstance(each, self._kinds)]

    def _add(self, value: Any, made: Any) -> Any:
        self._made[id(value)] = value, made
        return made

    def _final(self, value: Any) -> Any:
        """Return what takes the place of a value once all copies are made."""
        if type(value) in _PLAIN:
            return value
        if id(value) in self._made:
            return self._made[id(value)][1]
        if isinstance(value, _FUNCTIONS):
            return self._function(value)
        return self._frozen(value) if _is_frozen(value) else value

    def _frozen(self, value: Any) -> Any:
        """Return a tuple, or a dataclass that is frozen, with copies in it if it has any."""
        if not (before := list(_children(value))):
            return value
        self.keep(value)  # it may refer to itself
        after = list(map(self._final, before))
        if _are_same(before, after):
            return value
        kind: Any = type(value)
        if kind is frozenset:
            return self._add(value, frozenset(after))
        if isinstance(value, tuple):
            return self._add(value, kind._make(after) if hasattr(kind, "_make") else tuple(after))
        if (made := self._copy(value)) is not value:
            _replace(made, self._final)
        return self._add(value, made)

    def _function(self, value: Any) -> Any:
        match value:
            case partial():
                return self._partial(value)
            case FunctionType():
                return self._closure(value, value.__closure__ or ())
        return self._method(value)

    def _partial(self, value: Any) -> Any:
        before = value.func, *value.args, *value.keywords.values()
        function, *given = after = list(map(self._final, before))
        if _are_same(before, after):
            return value
        count = len(value.args)
        keywords = dict(zip(value.keywords, given[count:], strict=True))
        made = copy.copy(value)
        made.__setstate__((function, tuple(given[:count]), keywords, dict(vars(value))))
        return made

    def _method(self, method: Any) -> Any:
        owner = self._final(method.__self__)
        if owner is method.__self__:
            return method
        if isinstance(method, MethodType):
            return MethodType(method.__func__, owner)
        return getattr(owner, method.__name__)

    def _closure(self, function: FunctionType, cells: tuple[CellType, ...]) -> FunctionType:
        self.keep(function)  # it may refer to itself
        own = tuple(map(self._cell, cells))
        if _are_same(own, cells):
            return function
        code, names = function.__code__, function.__globals__
        own = tuple(CellType() if _content(each) is function else each for each in own)
        made = FunctionType(code, names, function.__name__, function.__defaults__, own)
        for name in _OF_FUNCTIONS:
            setattr(made, name, getattr(function, name))
        made.__dict__.update(function.__dict__)
        for mine, cell in zip(own, cells, strict=True):
            if _content(cell) is function:
                mine.cell_contents = made
        self._made[id(function)] = function, made
        return made

    def _cell(self, cell: CellType) -> CellType:
        content = _content(cell)
        made = self._final(content)
        return cell if made is content else CellType(made)


class SavedAttributes:
    """What objects have in their attributes before a run, to restore it.

    Containers and dataclasses in the attributes are restored with all that is in them, and stay the
    same objects, so that functions that refer to them see what is restored. All other objects are
    left as they are.

    Args:
        owners: The objects.
        unless: The names of attributes that are left as they are.
    """

    def __init__(self, owners: Iterable[object], unless: Collection[str] = ()) -> None:
        self._unless = unless
        self._owners = [
            (each, {name: value for name, value in vars(each).items() if name not in unless})
            for each in owners
        ]
        self._contents = list[tuple[Any, Any]]()
        seen = dict[int, object]()
        waiting = [value for _, attributes in self._owners for value in attributes.values()]
        while waiting:
            each = waiting.pop()
            if id(each) in seen or not (_is_frozen(each) or _is_mutable(each)):
                continue
            seen[id(each)] = each
            if _is_mutable(each):
                content = copy.copy(each if type(each) in _CONTAINERS else _attributes(each))
                self._contents.append((each, content))
            waiting += _children(each)

    def restore(self) -> None:
        """Restore the attributes, which may be done again."""
        for owner, attributes in self._owners:
            present = vars(owner)
            for name in present.keys() - attributes.keys() - set(self._unless):
                del present[name]
            present.update(attributes)
        for value, content in self._contents:
            _restore(value, content)


def _restore(value: Any, content: Any) -> None:
    if type(value) in _MAPPINGS:
        if list(value) != list(content):
            value.clear()
        for key, each in content.items():
            value[key] = each
    elif type(value) in (list, bytearray):
        value[:] = content
    elif type(value) in _CONTAINERS:
        value.clear()
        (value.extend if isinstance(value, deque) else value.update)(content)
    else:
        for name in _attributes(value).keys() - content.keys():
            object.__delattr__(value, name)
        for name, each in content.items():
            _set(value, name, each)


def _set(value: object, name: str, attribute: object) -> None:
    """Set an attribute of an object, also of one that is frozen."""
    attributes = getattr(value, "__dict__", {})
    if name in attributes:
        attributes[name] = attribute
    else:
        object.__setattr__(value, name, attribute)


def _children(value: Any) -> Iterable[Any]:
    """Return what a value refers to, without plain values."""
    if type(value) in _MAPPINGS:
        found = list(value.values())
    elif type(value) in _CONTAINERS or isinstance(value, tuple | frozenset):
        found = [] if isinstance(value, bytearray) else list(value)
    else:
        found = list(_attributes(value).values())
        found += (each for attributes in _of_models(value) for each in attributes.values())
    return found if not _PLAIN.issuperset(map(type, found)) else ()


def _replace(made: Any, final: Callable[[Any], Any]) -> None:
    """Replace what a copy refers to."""
    if type(made) in _CONTAINERS:
        if before := list(_children(made)):
            after = list(map(final, before))
            _restore(made, dict(zip(made, after, strict=True)) if isinstance(made, dict) else after)
        return
    for name, each in list(_attributes(made).items()):
        _set(made, name, final(each))
    for attributes in _of_models(made):
        attributes.update({name: final(each) for name, each in attributes.items()})


def _of_models(value: object) -> list[dict[str, Any]]:
    """Return the attributes that a model of pydantic has elsewhere than in its `__dict__`."""
    return [found for name in _OF_MODELS if (found := getattr(value, name, None))]


def _attributes(value: Any) -> dict[str, Any]:
    """Return the attributes of an object, also those in slots."""
    kind: Any = type(value)
    attributes: dict[str, Any] = getattr(value, "__dict__", {})
    if not (slots := _slots(kind)):
        return attributes
    return {**{name: getattr(value, name) for name in slots if hasattr(value, name)}, **attributes}


@lru_cache(1000)
def _slots(kind: type) -> list[str]:
    slots = (vars(each).get("__slots__", ()) for each in kind.__mro__)
    names = [name for each in slots for name in ([each] if isinstance(each, str) else each)]
    return [name for name in names if not name.startswith("__")]


def _content(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # it is empty
        return None


def _is_mutable(value: object) -> bool:
    kind: Any = type(value)
    return _is_mutable_kind(kind)


def _is_frozen(value: object) -> bool:
    """Return whether a value cannot change, but may refer to others that can."""
    kind: Any = type(value)
    return _is_frozen_kind(kind)


@lru_cache(1000)
def _is_mutable_kind(kind: type) -> bool:
    is_record = dataclasses.is_dataclass(kind)
    return kind in _CONTAINERS or (is_record and not _is_frozen_kind(cast("Any", kind)))


@lru_cache(1000)
def _is_frozen_kind(kind: type) -> bool:
    if dataclasses.is_dataclass(kind):
        return bool(kind.__dataclass_params__.frozen)  # type: ignore[attr-defined]
    return kind in (tuple, frozenset) or (issubclass(kind, tuple) and hasattr(kind, "_make"))


def _are_same(some: Collection[object], others: Collection[object]) -> bool:
    return all(one is other for one, other in zip(some, others, strict=True))
