"""Converts the results of targets and their tools into events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import is_dataclass
from typing import TYPE_CHECKING, Any, cast

from pydantic import BaseModel, TypeAdapter

from a2a_adapters.contract.events import Output, ToolCall, ToolResult
from a2a_adapters.contract.parts import Data, File, Part, Text
from a2a_adapters.contract.text import as_json, tool_arguments, without_reasoning

if TYPE_CHECKING:
    from collections.abc import Sequence

    from a2a_adapters.contract.parts import JSON

_ANSWER = "answer"


def as_output(
    value: object, *, name: str = "", schema: Mapping[str, JSON] | None = None
) -> Output | None:
    """Convert any result into an artifact; return None if it is None or has no text.

    Reasoning is removed from text, parts are unchanged, and anything else becomes data; pydantic
    models and dataclasses bring their own JSON schema.

    Args:
        value: The result.
        name: The artifact's name; by default `answer` for text.
        schema: The JSON schema for data without its own.
    """
    parts = _parts(value, schema)
    if not parts:
        return None
    has_text = any(isinstance(part, Text) for part in parts)
    return Output(parts, name=name or (_ANSWER if has_text else ""))


def _parts(value: object, schema: Mapping[str, JSON] | None) -> Sequence[Part]:
    match value:
        case None:
            return ()
        case str():
            text = without_reasoning(value)
            return (Text(text),) if text else ()
        case Text() | File() | Data():
            return (value,)
        case [Text() | File() | Data(), *_]:
            return cast("Sequence[Part]", value)
    own = schema_of(value)
    return (Data(value, schema=schema if own is None else own),)


def schema_of(value: object) -> Mapping[str, JSON] | None:
    """Return the JSON schema of a pydantic model or dataclass instance, otherwise None."""
    if isinstance(value, BaseModel) or is_dataclass(value):
        adapter: TypeAdapter[Any] = TypeAdapter(type(value))
        return adapter.json_schema()
    return None


class ToolCalls:
    """Creates the tool events of one run and reports each call and each result once.

    Args:
        names: The tool names of calls that an earlier run reported, by call id.
    """

    def __init__(self, names: Mapping[str, str] | None = None) -> None:
        self._names = dict(names or {})
        self._finished: set[str] = set()

    def __contains__(self, call_id: object) -> bool:
        return call_id in self._names

    def started(self, call_id: str, name: str, arguments: object) -> list[ToolCall]:
        """Return the event for a call, or an empty list if it was already reported.

        Args:
            call_id: The call's id. Calls with an empty id are always reported.
            name: The tool's name.
            arguments: Any value, or JSON text as models write it.
        """
        if call_id and call_id in self._names:
            return []
        self._names[call_id] = name
        return [ToolCall(call_id, name, tool_arguments(arguments))]

    def finished(
        self, call_id: str, result: object, *, name: str = "", is_error: bool = False
    ) -> list[ToolResult]:
        """Return the event for a result, or an empty list if it was already reported.

        Args:
            call_id: The call's id.
            result: Any value. Dropped for errors, where it is usually the text of an exception.
            name: The tool's name; by default that of the call.
            is_error: Whether the tool failed.
        """
        if call_id and call_id in self._finished:
            return []
        self._finished.add(call_id)
        shown = None if is_error else as_json(result)
        return [ToolResult(call_id, name or self._names.get(call_id, ""), shown, is_error)]
