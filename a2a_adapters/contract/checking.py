"""Checks the values of options where they are constructed."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar

from a2a_adapters.contract.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

T = TypeVar("T")

_KINDS: dict[str, tuple[str, tuple[type, ...]]] = {
    "int": ("a whole number", (int,)),
    "float": ("a number", (int, float)),
}
_OTHERS: dict[str, tuple[str, type]] = {"bool": ("True or False", bool), "str": ("a string", str)}
_LISTS = ("Sequence[str]", "Collection[str]", "frozenset[str]", "Sequence[object]")


def check_fields(options: Any, positive: Collection[str] = ()) -> None:
    """Check the numbers, strings, booleans and lists of names in a dataclass of options.

    Args:
        options: The dataclass. Its module must postpone the evaluation of annotations.
        positive: The names of the numbers that must not be 0; none may be negative.

    Raises:
        ConfigurationError: A value has another type, a number is out of range, or a list is a
            string.
    """
    kinds = {each.name: str(each.type) for each in fields(options)}
    values = {name: getattr(options, name) for name in kinds}
    _check(f"{type(options).__name__}.", kinds, values, positive)


def check_arguments(
    function: type | Callable[..., object],
    values: Mapping[str, object],
    positive: Collection[str] = (),
) -> None:
    """Check arguments as `check_fields` checks fields.

    Args:
        function: The class or function. Its module must postpone the evaluation of annotations.
        values: The arguments by name, such as `locals()` at its beginning.
        positive: The names of the numbers that must not be 0; none may be negative.

    Raises:
        ConfigurationError: A value has another type, a number is out of range, or a list is a
            string.
    """
    if isinstance(function, type):
        kinds = function.__init__.__annotations__  # type: ignore[misc]
        _check(f"{function.__name__}.", kinds, values, positive)
    else:
        _check("", function.__annotations__, values, positive)


def _check(
    place: str, kinds: Mapping[str, str], values: Mapping[str, object], positive: Collection[str]
) -> None:
    for field in [name for name in kinds if name in values]:  # without `return`
        kind, name, value = kinds[field], f"{place}{field}", values[field]
        if kind in _LISTS and isinstance(value, str):
            raise ConfigurationError(f"{name} must be a list of strings, such as [{value!r}]")
        needed = kind.removesuffix(" | None")
        if value is None and needed != kind:
            continue
        if needed in _OTHERS:
            wanted, known = _OTHERS[needed]
            if not isinstance(value, known):
                raise ConfigurationError(f"{name} must be {wanted}, not {type(value).__name__}")
        if needed not in _KINDS:
            continue
        wanted, types = _KINDS[needed]
        if not isinstance(value, types) or isinstance(value, bool):
            raise ConfigurationError(f"{name} must be {wanted}, not {value!r}")
        if field in positive and not value > 0:  # type: ignore[operator]
            raise ConfigurationError(f"{name} must be greater than 0, not {value!r}")
        if not value >= 0:  # type: ignore[operator]
            raise ConfigurationError(f"{name} must be 0 or more, not {value!r}")


def checked_options(given: object, kind: type[T], name: str = "options") -> T:
    """Return options, or the default ones for None.

    Raises:
        ConfigurationError: They are of another type.
    """
    if given is None:
        return kind()
    if not isinstance(given, kind):
        raise ConfigurationError(f"{name} must be {kind.__name__}(...), not {given!r}")
    return given


def check_type(name: str, value: object, kind: type, wanted: str) -> None:
    """Raise `ConfigurationError` for a value of another type, without the value: it may be secret.

    Args:
        name: The name of the argument.
        value: The value; None is accepted.
        kind: The type.
        wanted: Names values of the type.
    """
    if value is not None and not isinstance(value, kind):
        raise ConfigurationError(f"{name} must be {wanted}, not {type(value).__name__}")


def check_choice(name: str, value: object, choices: Collection[object]) -> None:
    """Raise `ConfigurationError` if a value is not one of the choices."""
    if value not in choices:
        shown = " or ".join(map(repr, choices))
        raise ConfigurationError(f"{name} must be {shown}, not {value!r}")


def check_port(port: object, name: str = "port") -> None:
    """Raise `ConfigurationError` unless `port` is a port number."""
    if isinstance(port, bool) or not isinstance(port, int) or not 0 <= port <= 65535:
        raise ConfigurationError(f"{name} must be a number from 0 to 65535, not {port!r}")
