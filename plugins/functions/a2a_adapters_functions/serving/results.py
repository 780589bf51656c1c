"""Converts the results of functions to agent events."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import is_dataclass, replace
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from a2a_adapters import (
    AgentEvent,
    Data,
    File,
    InputRequired,
    InvalidInputError,
    Output,
    Part,
    Text,
    TextDelta,
)
from a2a_adapters_functions.serving.schema import (
    OURS,
    UNIONS,
    adapter_of,
    schema_of,
    schema_of_class,
)

_UNTYPED = (Any, object, dict, list, tuple, type(None), None, str, bytes)

logger = logging.getLogger(__name__)


class Results:
    """The declared type of a function's results.

    Args:
        name: The function's name.
        hint: Its return annotation, if any. Events, text, bytes and None in a union are ignored.

    Attributes:
        schema: The JSON schema; None if the annotation is missing or unspecific.
    """

    def __init__(self, name: str, hint: Any) -> None:
        options = get_args(hint) if get_origin(hint) in UNIONS else (hint,)
        options = tuple(each for each in options if each not in (*_UNTYPED, *OURS))
        self._name = name
        self._adapter = adapter_of(Union[options]) if options else None  # noqa: UP007
        self.schema = schema_of(self._adapter, of_result=True) if self._adapter else None

    def part(self, value: object) -> Data:
        """Return a value as data, with the schema if it matches; otherwise log a warning."""
        if self._adapter is None:
            return Data(value)
        try:
            found = self._adapter.validate_python(value)
        except ValidationError as error:
            what = InvalidInputError.of(error)
            logger.warning("%s did not return what its annotation says: %.500s", self._name, what)
            return Data(value)
        return Data(
            self._adapter.dump_python(found, mode="json", by_alias=True), schema=self.schema
        )


def returned_events(value: object, results: Results | None = None) -> Sequence[AgentEvent]:
    """Convert a returned value: a single value, or a list of parts and events.

    A returned text is a whole answer, unlike one that is yielded.

    Args:
        value: The value.
        results: The declared type.
    """
    if isinstance(value, list | tuple) and value and all(_is_ours(item) for item in value):
        return [event for item in value for event in returned_events(item)]
    if isinstance(value, str):
        return (Output((Text(value),), name="answer"),)
    if isinstance(value, InputRequired):
        # The function has returned, so the reply calls it again.
        return (replace(value, durable=True),)
    return () if value is None else (event_of(value, results),)


def event_of(value: object, results: Results | None = None) -> AgentEvent:
    """Convert one yielded value; a text is the next piece of the answer."""
    if isinstance(value, str):
        return TextDelta(value)
    if isinstance(value, AgentEvent):
        return value
    return Output((part_of(value, results),))


def part_of(value: object, results: Results | None = None) -> Part:
    """Convert a value to a part: bytes to a file, other values to data with a schema."""
    if isinstance(value, Part):
        return value
    if isinstance(value, bytes):
        return File(content=value, media_type="application/octet-stream")
    if isinstance(value, BaseModel) or is_dataclass(value):
        return Data(value, schema=schema_of_class(value.__class__))
    return results.part(value) if results else Data(value)


def _is_ours(value: object) -> bool:
    return isinstance(value, AgentEvent | Part)
