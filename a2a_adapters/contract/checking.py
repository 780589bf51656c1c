"""Checks the values of options where they are constructed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from a2a_adapters.contract.errors import ConfigurationError
from a2a_adapters.contract.hints import Hint, hints_of_arguments, hints_of_fields

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

T = TypeVar("T")


def check_fields(options: Any, positive: Collection[str] = ()) -> None:
    """Check the values in a dataclass of options by its annotations.

    Args:
        options: The dataclass.
        positive: The names of the numbers that must not be 0, of which none may be negative, and
            of the strings that must not be empty.

    Raises:
        ConfigurationError: A value has another type, a number is out of range, or a function
            takes other arguments than those it is called with.
    """
    kind: Any = type(options)
    hints = hints_of_fields(kind)
    values = {name: getattr(options, name) for name in hints}
    _check(f"{kind.__name__}.", hints, values, positive)


def check_arguments(
    function: type | Callable[..., object],
    values: Mapping[str, object],
    positive: Collection[str] = (),
) -> None:
    """Check arguments as `check_fields` checks fields.

    Args:
        function: The class or function.
        values: The arguments by name, such as `locals()` at its beginning.
        positive: The names of the numbers that must not be 0, of which none may be negative, and
            of the strings that must not be empty.

    Raises:
        ConfigurationError: A value has another type, a number is out of range, or a function
            takes other arguments than those it is called with.
    """
    if isinstance(function, type):
        hints = hints_of_arguments(function.__init__)  # type: ignore[misc]
        _check(f"{function.__name__}.", hints, values, positive)
    else:
        _check("", hints_of_arguments(function), values, positive)


def _check(
    place: str, hints: Mapping[str, Hint], values: Mapping[str, object], positive: Collection[str]
) -> None:
    for field in [name for name in hints if name in values]:
        hint, name, value = hints[field], f"{place}{field}", values[field]
        if (problem := hint.mismatch(value)) is not None:
            raise ConfigurationError(f"{name} must be {problem}")
        if field in positive and value == "":
            raise ConfigurationError(f"{name} must not be empty")
        if not isinstance(value, int | float) or not hint.is_number:
            continue
        if field in positive and not value > 0:
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
