"""Reads the typed arguments of a function from a message.

| the message has       | it sets                                                              |
|-----------------------|----------------------------------------------------------------------|
| a data part           | the arguments by name; a single parameter also directly              |
| a JSON object as text | the same, if one of its keys is a parameter                          |
| other text            | the remaining argument, parsed as JSON unless it may be a string     |
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import typing_extensions
from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic_core import from_json, to_json

from a2a_adapters import AgentRequest, Data, File, InvalidInputError
from a2a_adapters_functions.serving.schema import readable, schema_of

_TEXT_BYTES = 1_000_000
"""Longer text is not parsed as JSON; the server limits the size of data parts."""

_ERROR_LENGTH = 1_000


class Arguments:
    """Reads a function's arguments from messages.

    Args:
        hints: The types of the parameters that callers set, by name.
        required: The names of parameters without a default.
        takes_request: Whether the function also receives the request, and so can read other files
            and text itself.

    Attributes:
        schema: The JSON schema of a data part: an object of all parameters, or the schema of a
            single parameter that is itself an object.
    """

    def __init__(
        self, hints: Mapping[str, Any], required: frozenset[str], *, takes_request: bool
    ) -> None:
        fields = {
            name: readable(hint)
            if name in required
            else typing_extensions.NotRequired[readable(hint)]
            for name, hint in hints.items()
        }
        make: Any = typing_extensions.TypedDict  # mypy wants its fields literally
        shape = make("Arguments", fields)
        shape.__pydantic_config__ = ConfigDict(extra="forbid")
        self._adapter: TypeAdapter[dict[str, Any]] = TypeAdapter(shape)
        whole = {key: value for key, value in schema_of(self._adapter).items() if key != "title"}
        self._definitions = whole.get("$defs", {})
        self._schemas = {name: self._resolved(s) for name, s in whole["properties"].items()}
        self._required = required
        self._takes_request = takes_request
        [first, *others] = self._schemas
        self._only = None if others else first
        self._is_object = not others and self._schemas[first].get("type") == "object"
        self.schema: Mapping[str, Any] = whole
        if self._is_object:
            definitions = {"$defs": self._definitions} if self._definitions else {}
            self.schema = {**self._schemas[first], **definitions}

    def read(self, request: AgentRequest) -> dict[str, Any]:
        """Return the arguments in a message by name.

        Raises:
            InvalidInputError: Names the arguments that are invalid, missing or unknown.
        """
        given: dict[str, Any] = {}
        for part in request.parts:
            if isinstance(part, Data):
                self._add(given, part.value)
            elif isinstance(part, File) and not self._takes_request:
                raise InvalidInputError(f"this agent takes no files. {self._usage()}")
        if (text := request.text).strip():
            self._add_text(given, text)
        try:
            return self._adapter.validate_json(to_json(given))
        except ValidationError as error:
            raise InvalidInputError(f"{InvalidInputError.of(error)!s:.{_ERROR_LENGTH}}") from error

    def _add(self, given: dict[str, Any], value: object) -> None:
        if self._only and (
            self._is_object or not isinstance(value, Mapping) or self._only not in value
        ):
            value = {self._only: value}
        if not isinstance(value, Mapping):
            raise InvalidInputError(f"a data part must be an object. {self._usage()}")
        if twice := sorted(given.keys() & value.keys()):
            raise InvalidInputError(f"given twice: {', '.join(twice)}")
        given.update(value)

    def _add_text(self, given: dict[str, Any], text: str) -> None:
        value = _json(text)
        if isinstance(value, Mapping) and (self._is_object or value.keys() & self._schemas.keys()):
            self._add(given, value)
            return
        free = [name for name in self._required if name not in given]
        free = free or [name for name in self._schemas if name not in given]
        if len(free) > 1:
            free = [name for name in free if self._takes_text(self._schemas[name])]
        if len(free) == 1:
            is_text = value is None or self._takes_text(self._schemas[free[0]])
            given[free[0]] = text if is_text else value
        elif not self._takes_request:
            raise InvalidInputError(f"the meaning of the text is unclear. {self._usage()}")

    def _takes_text(self, schema: Mapping[str, Any]) -> bool:
        schema = self._resolved(schema)
        return schema.get("type") == "string" or any(
            map(self._takes_text, (*schema.get("anyOf", ()), *schema.get("oneOf", ())))
        )

    def _resolved(self, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self._definitions.get(
            schema.get("$ref", "").rpartition("/")[2], schema
        )
        return found

    def _usage(self) -> str:
        names = (f"{n} (required)" if n in self._required else n for n in self._schemas)
        return f"Send a data part, or JSON, with: {', '.join(names)}"


def _json(text: str) -> Any:
    """Parse text as JSON; None if it is not JSON."""
    if len(text) > _TEXT_BYTES:
        return None
    try:
        return from_json(text)
    except ValueError:
        return None
