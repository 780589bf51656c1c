"""Copies of a framework's objects for one run."""

from __future__ import annotations

import copy
import dataclasses
from collections import Counter, OrderedDict, defaultdict, deque
from functools import partial
from types import BuiltinMethodType, CellType, FunctionType, MethodType
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["Copies"]

_Value = TypeVar("_Value")

_FUNCTIONS = (BuiltinMethodType, FunctionType, MethodType, partial)
_MAPPINGS = (dict, defaultdict, OrderedDict, Counter)
_SEQUENCES = (list, deque)
_FLAT = (set, bytearray)
_PRIVATE = "__pydantic_private__"
"""Where a model of pydantic has its private attributes."""


class Copies:
    """Copies objects so that a run changes nothing that another one sees.

    Objects of the given classes are copied with their attributes. Containers are copied with all
    that is in them, and so are dataclasses that are not frozen. Methods, partial functions and
    closures of copied objects then belong to the copies. All other objects are shared. What occurs
    several times is copied once.

    Args:
        kinds: The classes of the objects to copy.
    """

    def __init__(self, *kinds: type) -> None:
        self._kinds = kinds
        self._made: dict[int, tuple[object, Any]] = {}
        """The copies, with their originals, by the ids of these."""

    @property
    def made(self) -> Iterator[Any]:
        """The copies."""
        return (made for _, made in list(self._made.values()))

    def of(self, value: _Value) -> _Value:
        """Return the copy of a value, or the value itself if it is shared."""
        made: Any = self._copy(value)
        return made  # type: ignore[no-any-return]

    def keep(self, value: object) -> None:
        """Share an object that would be copied otherwise."""
        self._made[id(value)] = value, value

    def _copy(self, value: Any) -> Any:
        if id(value) in self._made:
            return self._made[id(value)][1]
        if isinstance(value, _FUNCTIONS):
            return self._function(value)
        if type(value) is tuple:
            items = tuple(map(self.of, value))
            return value if _are_same(items, value) else items
        if isinstance(value, self._kinds):
            return self._object(value)
        return self._record(value) if _is_record(value) else self._container(value)

    def _object(self, value: Any) -> Any:
        made = self._add(value)
        private: dict[str, Any] = getattr(made, _PRIVATE, None) or {}
        for attributes in (vars(made), private):
            # Methods of containers, such as `append`, belong to a copy that is made before.
            for name in sorted(attributes, key=lambda name: callable(attributes[name])):
                attributes[name] = self.of(attributes[name])
        return made

    def _record(self, value: Any) -> Any:
        made = self._add(value)
        for field in dataclasses.fields(value):
            if hasattr(value, field.name):
                object.__setattr__(made, field.name, self.of(getattr(value, field.name)))
        return made

    def _container(self, value: Any) -> Any:
        items: Iterable[tuple[Any, Any]]
        if type(value) in _MAPPINGS:
            items = value.items()
        elif type(value) in _SEQUENCES:
            items = enumerate(value)
        elif type(value) in _FLAT:
            items = ()
        else:
            return value
        made = self._add(value)
        for key, each in items:
            made[key] = self.of(each)
        return made

    def _add(self, value: Any) -> Any:
        made = copy.copy(value)
        self._made[id(value)] = value, made
        return made

    def _function(self, value: Any) -> Any:
        match value:
            case partial():
                function, arguments = self.of(value.func), map(self.of, value.args)
                return partial(function, *arguments, **self.of(value.keywords))
            case FunctionType():
                return self._closure(value, value.__closure__ or ())
        return self._method(value)

    def _method(self, method: Any) -> Any:
        owner = self._owner(method.__self__)
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
        made.__kwdefaults__ = function.__kwdefaults__
        made.__dict__.update(function.__dict__)
        for mine, cell in zip(own, cells, strict=True):
            if _content(cell) is function:
                mine.cell_contents = made
        self._made[id(function)] = function, made
        return made

    def _cell(self, cell: CellType) -> CellType:
        content = _content(cell)
        made = self.of(content) if callable(content) else self._owner(content)
        return cell if made is content else CellType(made)

    def _owner(self, owner: Any) -> Any:
        """Return the copy of what a function belongs to; a container of the user's is shared."""
        is_copied = id(owner) in self._made or isinstance(owner, self._kinds)
        return self.of(owner) if is_copied else owner


def _content(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # it is empty
        return None


def _is_record(value: object) -> bool:
    kind = type(value)
    return dataclasses.is_dataclass(kind) and not kind.__dataclass_params__.frozen  # type: ignore[attr-defined]


def _are_same(some: tuple[object, ...], others: tuple[object, ...]) -> bool:
    return all(one is other for one, other in zip(some, others, strict=True))
