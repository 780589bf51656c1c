"""From a message to the call of a tool."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from a2a_adapters import AgentRequest, Data, InvalidInputError
from a2a_adapters.dialects import quote
from a2a_adapters_mcp.serving.shown import NAME_LENGTH, properties_of, required_of

if TYPE_CHECKING:
    from mcp.types import Tool

_NAMES = 20
_SHOWN = 20
"""How many arguments of a tool are part of its example."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool, and what it is called with."""

    tool: Tool
    arguments: Mapping[str, Any]


class CallReader:
    """Reads messages.

    Args:
        tools: The server's tools by their names.
    """

    def __init__(self, tools: Mapping[str, Tool]) -> None:
        self._tools = tools
        takers = [(tool, argument) for tool in tools.values() if (argument := _text_of(tool))]
        self._taker = takers[0] if len(takers) == 1 else None

    @property
    def takes_text(self) -> bool:
        """Whether plain text calls a tool."""
        return self._taker is not None

    def read(self, request: AgentRequest) -> ToolCall:
        """Return the call that a message means.

        Raises:
            InvalidInputError: It means none.
        """
        data = [part.value for part in request.parts if isinstance(part, Data)]
        if len(data) == 1 and isinstance(data[0], Mapping):
            return self._named(data[0])
        if not data and request.text and self._taker:
            tool, argument = self._taker
            return ToolCall(tool, {argument: request.text})
        raise InvalidInputError(f"send {_SHAPE}; {self._names()}")

    def _named(self, value: Mapping[str, Any]) -> ToolCall:
        name, arguments = value.get("tool"), value.get("arguments", {})
        if set(value) - {"tool", "arguments"} or not isinstance(name, str):
            raise InvalidInputError(f"send {_SHAPE} and nothing else; {self._names()}")
        if not isinstance(arguments, Mapping):
            raise InvalidInputError("the arguments of a tool are an object")
        if (tool := self._tools.get(name)) is None:
            raise InvalidInputError(f"there is no tool {name!r:.100}; {self._names()}")
        return ToolCall(tool, arguments)

    def _names(self) -> str:
        names = list(self._tools)
        more = ", ..." if len(names) > _NAMES else ""
        return f"the tools are {', '.join(names[:_NAMES])}{more}" if names else "there are no tools"


_SHAPE = 'one data part {"tool": ..., "arguments": {...}}'


def example(tool: Tool) -> str:
    """Return how a tool is called, with the types of its arguments."""
    properties = list(properties_of(tool.inputSchema).items())[:_SHOWN]
    arguments = {
        quote(name, NAME_LENGTH): f"<{quote(_kind(schema), NAME_LENGTH)}>"
        for name, schema in properties
    }
    return json.dumps({"tool": tool.name, "arguments": arguments}, ensure_ascii=False)


def _kind(schema: object) -> str:
    kind = schema.get("type", "any") if isinstance(schema, Mapping) else "any"
    return kind if isinstance(kind, str) else "any"


def _text_of(tool: Tool) -> str:
    """Return the argument that is a text and all that a tool needs, "" if it needs others."""
    properties = properties_of(tool.inputSchema)
    needed = required_of(tool.inputSchema)
    texts = [name for name, schema in properties.items() if _kind(schema) == "string"]
    if needed:
        return needed[0] if len(needed) == 1 and needed[0] in texts else ""
    return texts[0] if len(texts) == 1 == len(properties) else ""
