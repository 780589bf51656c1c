"""JSON schemas of Python types."""

from __future__ import annotations

import sys
import types
import typing
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Union, cast, get_args, get_origin

import typing_extensions
from pydantic import TypeAdapter
from pydantic.errors import PydanticInvalidForJsonSchema, PydanticUserError
from pydantic.json_schema import GenerateJsonSchema

from a2a_adapters import AgentEvent, AgentRequest, Part

if TYPE_CHECKING:
    from collections.abc import Mapping

    from a2a_adapters.plugin import JSON

_UNREADABLE = (PydanticUserError, PydanticInvalidForJsonSchema, TypeError, NameError)
"""Errors of pydantic for types that it does not support or JSON cannot express."""

UNIONS = (Union, types.UnionType)
OURS = (*get_args(AgentEvent), *get_args(Part), AgentRequest)
"""The types of this package, which are not part of JSON schemas."""


class _Untitled(GenerateJsonSchema):
    """Leaves out the titles of fields, which only repeat their names."""

    def field_title_should_be_set(self, schema: object) -> bool:  # noqa: ARG002
        return False


def schema_of(adapter: TypeAdapter[Any], *, of_result: bool = False) -> dict[str, Any]:
    """Return the JSON schema of a type, as input or as result.

    Raises:
        PydanticInvalidForJsonSchema: JSON cannot express the type.
    """
    mode = "serialization" if of_result else "validation"
    return adapter.json_schema(mode=cast("Any", mode), schema_generator=_Untitled)


def adapter_of(hint: Any) -> TypeAdapter[Any] | None:
    """Return the validator of a type; None if JSON cannot express it."""
    if any(each in OURS for each in (hint, *_inner(hint))):
        return None
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(readable(hint))
        schema_of(adapter)
    except _UNREADABLE:
        return None
    return adapter


def readable(hint: Any) -> Any:
    """Replace the `typing.TypedDict`s in a type, which pydantic needs before Python 3.12."""
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
    if origin in UNIONS:
        return Union[tuple(map(readable, arguments))]  # noqa: UP007 - of types known at runtime only
    return origin[tuple(map(readable, arguments))]


def _inner(hint: Any) -> list[Any]:
    arguments = get_args(hint)
    return [*arguments, *(each for argument in arguments for each in _inner(argument))]


@lru_cache(maxsize=1000)
def schema_of_class(kind: type[Any]) -> Mapping[str, JSON] | None:
    """Return the JSON schema of a class's instances; None if JSON cannot express them."""
    try:
        return TypeAdapter(kind).json_schema(mode="serialization")
    except _UNREADABLE:
        return None
