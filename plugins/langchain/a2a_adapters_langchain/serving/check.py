"""Validates what a client sent by the type a runnable declares."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from langchain_core.language_models import BaseLanguageModel
from langchain_core.tools import BaseTool
from pydantic import TypeAdapter, ValidationError
from typing_extensions import is_typeddict

from a2a_adapters import InvalidInputError
from a2a_adapters_langchain.serving.schema import UNREADABLE, hints_of, input_type
from a2a_adapters_langchain.serving.steps import AnyRunnable, first_step

Check: TypeAlias = Callable[[Any], Any]


def input_check(runnable: AnyRunnable) -> Check:
    """Return a function that validates an input by its declared type.

    It gives back what the runnable is to get, for instance an instance of a pydantic model.
    """
    first = first_step(runnable)
    if isinstance(first, BaseLanguageModel):
        return _unchanged
    if isinstance(first, BaseTool):
        return _keeping(TypeAdapter(first.get_input_schema()).validate_python)
    declared = input_type(runnable)
    if is_typeddict(declared):
        return _checked(_typed_dict_check(declared))
    adapter = _type_adapter(declared)
    return _checked(adapter.validate_python) if adapter else _unchanged


def _unchanged(value: Any) -> Any:
    return value


def _keeping(validate: Check) -> Check:
    def check(value: Any) -> Any:
        validate(value)
        return value

    return _checked(check)


def _checked(validate: Check) -> Check:
    """Tell the caller what is wrong, but not what the server makes of it."""

    def check(value: Any) -> Any:
        try:
            return validate(value)
        except ValidationError as error:
            raise InvalidInputError.of(error) from error

    return check


def _typed_dict_check(declared: type) -> Check:
    """Check key by key: graphs take part of their state, and keys are checked elsewhere."""
    adapters = {name: _type_adapter(hint) for name, hint in hints_of(declared).items()}

    def check(value: dict[str, Any]) -> dict[str, Any]:
        return {
            name: adapter.validate_python(item) if (adapter := adapters.get(name)) else item
            for name, item in value.items()
        }

    return check


def _type_adapter(hint: Any) -> TypeAdapter[Any] | None:
    try:
        return TypeAdapter(hint)
    except UNREADABLE:
        return None
