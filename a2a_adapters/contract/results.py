"""Results of targets and of their tools as events."""

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

__all__ = ["ToolCalls", "as_output"]

_ANSWER = "answer"


def as_output(
    value: object, *, name: str = "", schema: Mapping[str, JSON] | None = None
) -> Output | None:
    """Return a result of any kind as an artifact; None for None, "" and text without an answer.

    Text loses its reasoning, parts stay as they are, and everything else becomes data: models and
    dataclasses with their own JSON schema.

    Args:
        value: The result.
        name: The artifact's name; by default `answer` for text.
        schema: The JSON schema of data without a schema of its own.
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
    """Return the JSON schema of an instance of a pydantic model or dataclass; None for others."""
    if isinstance(value, BaseModel) or is_dataclass(value):
        adapter: TypeAdapter[Any] = TypeAdapter(type(value))
        return adapter.json_schema()
    return None


class ToolCalls:
    """The tool calls of one run. Each call and each result is reported once.

    Args:
        names: The tools of calls that were reported before the run, by call id.
    """

    def __init__(self, names: Mapping[str, str] | None = None) -> None:
        self._names = dict(names or {})
        self._finished: set[str] = set()

    def __contains__(self, call_id: object) -> bool:
        return call_id in self._names

    def started(self, call_id: str, name: str, arguments: object) -> list[ToolCall]:
        """Return the event of a call, nothing if it was reported.

        Args:
            call_id: The call's id; calls whose id is empty are always reported.
            name: The tool's name.
            arguments: A value of any kind, or JSON text as models write it.
        """
        if call_id and call_id in self._names:
            return []
        self._names[call_id] = name
        return [ToolCall(call_id, name, tool_arguments(arguments))]

    def finished(
        self, call_id: str, result: object, *, name: str = "", is_error: bool = False
    ) -> list[ToolResult]:
        """Return the event of a result, nothing if it was reported.

        Args:
            call_id: The call's id.
            result: A value of any kind. An error's is dropped: it is mostly an exception's text.
            name: The tool's name; by default that of the call.
            is_error: Whether the tool failed.
        """
        if call_id and call_id in self._finished:
            return []
        self._finished.add(call_id)
        shown = None if is_error else as_json(result)
        return [ToolResult(call_id, name or self._names.get(call_id, ""), shown, is_error)]
