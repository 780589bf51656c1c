"""Checks the values of options where they are constructed."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar

from a2a_adapters.contract.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Collection

T = TypeVar("T")

_KINDS: dict[str, tuple[str, tuple[type, ...]]] = {
    "int": ("a whole number", (int,)),
    "float": ("a number", (int, float)),
}
_LISTS = ("Sequence[str]", "Collection[str]", "frozenset[str]")


def check_fields(options: Any, positive: Collection[str] = ()) -> None:
    """Check the numbers and lists of names in a dataclass of options.

    Args:
        options: The dataclass, in whose module annotations are not evaluated.
        positive: The names of the numbers that must not be 0; none may be negative.

    Raises:
        ConfigurationError: A number has another type or is out of range, or a list is a string.
    """
    kind = type(options).__name__
    for each in fields(options):
        value: Any = getattr(options, each.name)
        name = f"{kind}.{each.name}"
        if each.type in _LISTS and isinstance(value, str):
            raise ConfigurationError(f"{name} must be a list of strings, such as [{value!r}]")
        if each.type not in _KINDS:
            continue
        wanted, types = _KINDS[str(each.type)]
        is_number = isinstance(value, types) and not isinstance(value, bool)
        if not is_number:
            raise ConfigurationError(f"{name} must be {wanted}, not {value!r}")
        if each.name in positive and not value > 0:
            raise ConfigurationError(f"{name} must be greater than 0, not {value!r}")
        if not value >= 0:
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


def check_port(port: object, name: str = "port") -> None:
    """Raise `ConfigurationError` unless `port` is a port number."""
    if isinstance(port, bool) or not isinstance(port, int) or not 0 <= port <= 65535:
        raise ConfigurationError(f"{name} must be a number from 0 to 65535, not {port!r}")
