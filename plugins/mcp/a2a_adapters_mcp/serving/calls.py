"""Converts messages to calls of an MCP server."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from mcp import types
from mcp.shared.exceptions import McpError
from pydantic import AnyUrl, TypeAdapter, ValidationError

from a2a_adapters import AgentEvent, AgentRequest, Data, InvalidInputError
from a2a_adapters.dialects import quote
from a2a_adapters_mcp.serving.results import (
    is_readable,
    prompt_events,
    resource_events,
    tool_events,
)
from a2a_adapters_mcp.serving.shown import NAME_LENGTH, properties_of, required_of

if TYPE_CHECKING:
    from mcp import ClientSession
    from mcp.shared.session import ProgressFnT
    from mcp.types import Prompt, Tool

    from a2a_adapters_mcp.serving.shown import Offer

_NAMES = 20
_SHOWN = 20
"""Maximum number of arguments in a tool's example."""

_NOT_FOUND = -32002
"""Error code for unknown resources (MCP 2025-11-25, "Resources")."""

_RAISED = 0
"""Error code used by the SDK's servers for exceptions in functions."""

_URL: TypeAdapter[AnyUrl] = TypeAdapter(AnyUrl)


class Call(ABC):
    """A call of an MCP server.

    Attributes:
        refusals: Error codes that are answers to the caller.
    """

    refusals: ClassVar[set[int]] = {types.INVALID_PARAMS, _NOT_FOUND, _RAISED}

    @abstractmethod
    async def events(self, session: ClientSession, tell: ProgressFnT) -> Iterator[AgentEvent]:
        """Perform the call and return the events of its result.

        Args:
            session: The connection with the server.
            tell: Receives progress.

        Raises:
            McpError: The server returns a protocol error.
        """


@dataclass(frozen=True, slots=True)
class ToolCall(Call):
    """A call of a tool."""

    refusals: ClassVar[set[int]] = {types.INVALID_PARAMS}
    tool: Tool
    arguments: Mapping[str, Any]
    reads_links: bool

    async def events(self, session: ClientSession, tell: ProgressFnT) -> Iterator[AgentEvent]:
        """Call the tool and read the resources linked in its result."""
        result = await session.call_tool(
            self.tool.name, dict(self.arguments), progress_callback=tell
        )
        read: dict[str, types.ReadResourceResult] = {}
        for block in result.content if self.reads_links else ():
            if isinstance(block, types.ResourceLink) and is_readable(str(block.uri)):
                with suppress(McpError):  # the caller gets the link instead
                    read[str(block.uri)] = await session.read_resource(block.uri)
        return tool_events(result, self.tool, read)


@dataclass(frozen=True, slots=True)
class ResourceCall(Call):
    """A request for a resource."""

    uri: AnyUrl

    async def events(self, session: ClientSession, tell: ProgressFnT) -> Iterator[AgentEvent]:  # noqa: ARG002
        """Read the resource."""
        return resource_events(await session.read_resource(self.uri))


@dataclass(frozen=True, slots=True)
class PromptCall(Call):
    """A request for a prompt."""

    prompt: Prompt
    arguments: Mapping[str, str]

    async def events(self, session: ClientSession, tell: ProgressFnT) -> Iterator[AgentEvent]:  # noqa: ARG002
        """Get the messages of the prompt."""
        result = await session.get_prompt(self.prompt.name, dict(self.arguments))
        return prompt_events(result)


class CallReader:
    """Parses messages.

    Args:
        offer: Tools, prompts and resources of the server.
    """

    def __init__(self, offer: Offer) -> None:
        self._offer = offer
        tools = offer.tools.values()
        takers = [(tool, argument) for tool in tools if (argument := _text_of(tool))]
        self._taker = takers[0] if len(takers) == 1 else None

    @property
    def takes_text(self) -> bool:
        """Whether plain text is a valid call."""
        return self._taker is not None

    def read(self, request: AgentRequest) -> Call:
        """Return the call in a message.

        Raises:
            InvalidInputError: The message is not a valid call.
        """
        data = [part.value for part in request.parts if isinstance(part, Data)]
        chosen = self._offer.tools.get(str(request.metadata.get("skill_id")))
        if chosen is not None and (call := self._chosen(chosen, data, request.text)):
            return call
        if len(data) == 1 and isinstance(value := data[0], Mapping):
            if self._offer.resources and value.keys() == {"resource"}:
                return ResourceCall(_url(value["resource"]))
            if self._offer.prompts and "prompt" in value:
                return self._prompt(value)
            return self._tool(value)
        if not data and request.text and self._taker:
            tool, argument = self._taker
            return self._call(tool, {argument: request.text})
        raise InvalidInputError(f"send {self._shape()}; {_names('tools', self._offer.tools)}")

    def _chosen(self, tool: Tool, data: Sequence[object], text: str) -> Call | None:
        """Return the call of a tool that was chosen as a skill, None if it is called by name."""
        match data:
            case [Mapping() as arguments] if "tool" not in arguments:
                return self._call(tool, arguments)
            case [] if text and (argument := _text_of(tool)):
                return self._call(tool, {argument: text})
        return None

    def _tool(self, value: Mapping[str, Any]) -> Call:
        tools = self._offer.tools
        name, arguments = value.get("tool"), value.get("arguments", {})
        if set(value) - {"tool", "arguments"} or not isinstance(name, str):
            shape = self._shape()
            raise InvalidInputError(f"send {shape} and nothing else; {_names('tools', tools)}")
        if not isinstance(arguments, Mapping):
            raise InvalidInputError("the arguments of a tool must be an object")
        if (tool := tools.get(name)) is None:
            raise InvalidInputError(f"unknown tool {name!r:.100}; {_names('tools', tools)}")
        return self._call(tool, arguments)

    def _call(self, tool: Tool, arguments: Mapping[str, Any]) -> Call:
        return ToolCall(tool, arguments, reads_links=bool(self._offer.resources))

    def _prompt(self, value: Mapping[str, Any]) -> Call:
        prompts = self._offer.prompts
        name, arguments = value["prompt"], value.get("arguments", {})
        prompt = prompts.get(name) if isinstance(name, str) else None
        if prompt is None:
            error = f"unknown prompt {name!r:.100}; {_names('prompts', prompts)}"
            raise InvalidInputError(error)
        if not isinstance(arguments, Mapping) or not all(
            isinstance(argument, str) for argument in arguments.values()
        ):
            raise InvalidInputError("the arguments of a prompt must be an object of strings")
        return PromptCall(prompt, arguments)

    def _shape(self) -> str:
        resource = ' or {"resource": ...}' if self._offer.resources else ""
        prompt = ' or {"prompt": ..., "arguments": {...}}' if self._offer.prompts else ""
        return f'one data part {{"tool": ..., "arguments": {{...}}}}{resource}{prompt}'


def _names(kind: str, known: Mapping[str, object]) -> str:
    names = list(known)
    more = ", ..." if len(names) > _NAMES else ""
    return f"the {kind} are {', '.join(names[:_NAMES])}{more}" if names else f"there are no {kind}"


def _url(value: object) -> AnyUrl:
    try:
        return _URL.validate_python(value)
    except ValidationError as error:
        raise InvalidInputError("a resource must be a URI") from error


def prompt_example(prompt: Prompt) -> str:
    """Return an example call of a prompt."""
    names = [argument.name for argument in prompt.arguments or ()][:_SHOWN]
    arguments = {quote(name, NAME_LENGTH): "<string>" for name in names}
    return json.dumps({"prompt": prompt.name, "arguments": arguments}, ensure_ascii=False)


def example(tool: Tool) -> str:
    """Return an example call of a tool with the types of its arguments."""
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
    """Return a tool's only required argument if it is a string, else ""."""
    properties = properties_of(tool.inputSchema)
    needed = required_of(tool.inputSchema)
    texts = [name for name, schema in properties.items() if _kind(schema) == "string"]
    if needed:
        return needed[0] if len(needed) == 1 and needed[0] in texts else ""
    return texts[0] if len(texts) == 1 == len(properties) else ""
