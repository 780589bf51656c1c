"""JSON schemas of types, and values checked against types."""

from __future__ import annotations

import logging
import sys
import types
import typing
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Union, cast, get_args, get_origin

import typing_extensions
from pydantic import TypeAdapter, ValidationError
from pydantic.errors import PydanticInvalidForJsonSchema, PydanticUserError
from pydantic.json_schema import GenerateJsonSchema

from a2a_adapters import (
    JSON,
    AgentRequest,
    AuthRequired,
    Data,
    File,
    InputRequired,
    InvalidInputError,
    Output,
    Progress,
    Rejected,
    Reply,
    TaskMetadata,
    Text,
    TextDelta,
    ToolCall,
    ToolResult,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

EVENTS = (
    TextDelta,
    Output,
    TaskMetadata,
    Progress,
    ToolCall,
    ToolResult,
    InputRequired,
    AuthRequired,
    Rejected,
    Reply,
)
PARTS = (Text, File, Data)

_UNREADABLE = (PydanticUserError, PydanticInvalidForJsonSchema, TypeError, NameError)
"""What pydantic raises for types that it cannot check, or JSON cannot express."""

_UNTYPED = (Any, object, dict, list, tuple, type(None), None, str, bytes)
_UNIONS = (Union, types.UnionType)
_OURS = (*EVENTS, *PARTS, AgentRequest)

logger = logging.getLogger(__name__)


class _Untitled(GenerateJsonSchema):
    """Leaves out the titles of fields, which only repeat their names."""

    def field_title_should_be_set(self, schema: object) -> bool:  # noqa: ARG002
        return False


def schema_of(adapter: TypeAdapter[Any], *, of_result: bool = False) -> dict[str, Any]:
    """Return the JSON schema of what a type takes, or of what its values become.

    Raises:
        PydanticInvalidForJsonSchema: JSON cannot express the type.
    """
    mode = "serialization" if of_result else "validation"
    return adapter.json_schema(mode=cast("Any", mode), schema_generator=_Untitled)


def adapter_of(hint: Any) -> TypeAdapter[Any] | None:
    """Return what checks values of a type, None if JSON cannot express it."""
    if any(each in _OURS for each in (hint, *_inner(hint))):
        return None
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(readable(hint))
        schema_of(adapter)
    except _UNREADABLE:
        return None
    return adapter


def readable(hint: Any) -> Any:
    """Return a type with its `typing.TypedDict`s as pydantic wants them before Python 3.12."""
    if sys.version_info >= (3, 12):
        return hint
    if typing.is_typeddict(hint) and type(hint).__module__ == "typing":
        hints = typing.get_type_hints(hint, include_extras=True)
        fields = {
            name: typing_extensions.Required[readable(each)]
            if name in hint.__required_keys__
            else typing_extensions.NotRequired[readable(each)]
            for name, each in hints.items()
        }
        make: Any = typing_extensions.TypedDict  # mypy wants its fields literally
        return make(hint.__name__, fields)
    origin, arguments = get_origin(hint), get_args(hint)
    if not any(map(typing.is_typeddict, _inner(hint))):
        return hint
    if origin in _UNIONS:
        return Union[tuple(map(readable, arguments))]  # noqa: UP007 - of what is known only now
    return origin[tuple(map(readable, arguments))]


def _inner(hint: Any) -> list[Any]:
    arguments = get_args(hint)
    return [*arguments, *(each for argument in arguments for each in _inner(argument))]


@lru_cache(maxsize=1000)
def schema_of_class(kind: type[Any]) -> Mapping[str, JSON] | None:
    """Return the JSON schema of a class's instances, None if JSON cannot express them."""
    try:
        return TypeAdapter(kind).json_schema(mode="serialization")
    except _UNREADABLE:
        return None


class Results:
    """The declared type of a function's results.

    Args:
        name: The function's name.
        hint: Its return annotation, None if there is none. Of a union, the types of values count:
            not events, text, bytes and None.

    Attributes:
        schema: The JSON schema, None if the annotation says no more than "a value".
    """

    def __init__(self, name: str, hint: Any) -> None:
        options = get_args(hint) if get_origin(hint) in _UNIONS else (hint,)
        options = tuple(each for each in options if each not in (*_UNTYPED, *_OURS))
        self._name = name
        self._adapter = adapter_of(Union[options]) if options else None  # noqa: UP007
        self.schema = schema_of(self._adapter, of_result=True) if self._adapter else None

    def part(self, value: object) -> Data:
        """Return a value as data: with the schema if it is of the type, else the log tells."""
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
