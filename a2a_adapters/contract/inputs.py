"""Reads a target's named inputs from the data parts and the text of a message."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from a2a_adapters.contract.errors import InvalidInputError
from a2a_adapters.contract.parts import Data, Part


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedInputs:
    """Reads the values of named inputs, such as the fields of a state, from a message.

    Attributes:
        names: The names that callers may set.
        required: The names that must have a value.
        text_name: The name that receives the text; by default the only one without a value.
        is_open: Whether callers may also set other names.
        reserved: Names that callers may not set even if `is_open`.
        default_text_name: The name that receives the text if several have no value.
    """

    names: Sequence[str]
    required: Sequence[str] = ()
    text_name: str | None = None
    is_open: bool = False
    reserved: Collection[str] = ()
    default_text_name: str | None = None

    def read(self, parts: Iterable[Part], text: str) -> dict[str, Any]:
        """Return the values by name. Required ones may be missing, see `check_complete`.

        Raises:
            InvalidInputError: A data part is not an object or has an unknown name, or the text
                could belong to several names.
        """
        values: dict[str, Any] = {}
        for part in parts:
            if isinstance(part, Data):
                if not isinstance(part.value, Mapping):
                    raise InvalidInputError(f"a data part must be an object. {self.usage}")
                values |= part.value
        if unknown := sorted(name for name in values if not self._accepts(name)):
            raise InvalidInputError(f"unknown: {', '.join(unknown)}. {self.usage}")
        if text.strip():
            values[self._name_of_text(values)] = text
        return values

    def check_complete(self, values: Collection[str]) -> None:
        """Check that each required name has a value.

        Raises:
            InvalidInputError: Lists the missing names.
        """
        if missing := [name for name in self.required if name not in values]:
            raise self.missing(missing)

    def missing(self, names: Iterable[str]) -> InvalidInputError:
        """Return the error that lists names without a value."""
        return InvalidInputError(f"missing: {', '.join(names)}. {self.usage}")

    @property
    def usage(self) -> str:
        """A hint that lists the names to send, without a final period."""
        names = (f"{name} (required)" if name in self.required else name for name in self.names)
        return f"Send a data part with: {', '.join(names) or 'any names'}"

    def _accepts(self, name: str) -> bool:
        return name in self.names or (self.is_open and name not in self.reserved)

    def _name_of_text(self, values: Collection[str]) -> str:
        if self.text_name:
            return self.text_name
        free = [name for name in self.required or self.names if name not in values]
        if len(free) == 1:
            return free[0]
        if self.default_text_name:
            return self.default_text_name
        if free:
            raise InvalidInputError(f"text alone is not enough. {self.usage}")
        raise InvalidInputError(
            f"the data part sets every name, none is left for the text. {self.usage}"
        )
