"""Converts results of an MCP server to an agent's events."""

from __future__ import annotations

import json
from base64 import b64decode
from itertools import groupby
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from a2a_adapters import Data, File, Output, Part, Rejected, Text, TextDelta
from a2a_adapters_mcp.serving.shown import text_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mcp.types import CallToolResult, GetPromptResult, ReadResourceResult, Tool
    from pydantic import BaseModel

    from a2a_adapters import AgentEvent

_FILENAME = "a2a-adapters/filename"
"""Metadata key of files from agents offered as tools."""

_WEB = ("https://", "http://")

_WRAPPED = "result"
"""Key used by the SDK's servers for results other than objects."""


def is_readable(uri: str) -> bool:
    """Return whether a resource must be read from its server instead of its URL."""
    return not uri.startswith(_WEB)


def resource_events(result: ReadResourceResult) -> Iterator[AgentEvent]:
    """Yield the files of a resource."""
    for resource in _wire(result)["contents"]:
        yield Output((_file(resource, ""),))


def prompt_events(result: GetPromptResult) -> Iterator[AgentEvent]:
    """Yield the messages of a prompt, with roles if there are several."""
    messages = _wire(result)["messages"]
    begun = False
    for message in messages:
        block = message["content"]
        if block["type"] != "text":
            yield Output((_part(block, {}),))
            continue
        role = f"{message['role']}: " if len(messages) > 1 else ""
        yield TextDelta("\n\n" * begun + role + block["text"])
        begun = True


def tool_events(
    result: CallToolResult, tool: Tool, read: Mapping[str, ReadResourceResult]
) -> Iterator[AgentEvent]:
    """Yield the events of a tool's result; an error becomes a rejection with its text.

    Args:
        result: The result.
        tool: The tool.
        read: The resources linked in the result, by URI.
    """
    wire = _wire(result)
    blocks = wire.get("content", [])
    if wire.get("isError"):
        texts = [block["text"] for block in blocks if block["type"] == "text"]
        yield Rejected(text_of("\n".join(texts)) or f"The tool {tool.name} failed.")
        return
    structured = wire.get("structuredContent")
    if structured is not None and _is_text(structured, blocks):
        structured = None
    begun = False
    for are_texts, group in groupby(blocks, lambda block: block["type"] == "text"):
        if not are_texts:
            for block in group:
                yield Output((_part(block, read),))
            continue
        texts = [block["text"] for block in group]
        if structured is not None:
            texts = [text for text in texts if not _repeats(text, structured)]
        if texts:
            yield TextDelta("\n" * begun + "\n".join(texts))
            begun = True
    if structured is not None:
        yield Output((Data(structured, schema=tool.outputSchema),))


def _is_text(structured: Mapping[str, Any], blocks: list[dict[str, Any]]) -> bool:
    """Return whether structured content only repeats the single text block."""
    return len(blocks) == 1 and structured == {_WRAPPED: blocks[0].get("text")}


def _repeats(text: str, structured: Mapping[str, Any]) -> bool:
    """Return whether a text repeats the structured content for older clients."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return value in (structured, structured.get(_WRAPPED))


def _wire(result: BaseModel) -> dict[str, Any]:
    return result.model_dump(by_alias=True, mode="json", exclude_none=True)


def _part(block: Mapping[str, Any], read: Mapping[str, ReadResourceResult]) -> Part:
    name = block.get("_meta", {}).get(_FILENAME, "")
    match block:
        case {"type": "image" | "audio", "data": str(data)}:
            kind = block.get("mimeType", "")
            return File(content=b64decode(data), media_type=kind, filename=str(name))
        case {"type": "resource", "resource": dict(resource)}:
            return _file(resource, str(name))
        case {"type": "resource_link", "uri": str(uri), "name": str(name)} if uri.startswith(_WEB):
            return File(url=uri, media_type=block.get("mimeType", ""), filename=name)
        case {"type": "resource_link", "uri": str(uri), "name": str(name)} if (
            found := read.get(uri)
        ) and found.contents:
            return _file(_wire(found)["contents"][0], name)
        case {"type": "resource_link"}:
            return Data(dict(block))
        case _:
            return Text(json.dumps(block))


def _file(resource: Mapping[str, Any], name: str) -> File:
    content = resource.get("text", "").encode() or b64decode(resource.get("blob", ""))
    return File(
        content=content,
        media_type=resource.get("mimeType", ""),
        filename=name or unquote(resource["uri"].rpartition("/")[2]),
    )
