"""Converts an editor's prompt to a message."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from acp import RequestError
from acp.schema import (
    AudioContentBlock,
    BlobResourceContents,
    EmbeddedResourceContentBlock,
    ImageContentBlock,
    ResourceContentBlock,
    TextContentBlock,
)

from a2a_adapters import File, Part, Text

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from a2a_adapters_acp.serving.content import Block


async def parts_of(
    prompt: Sequence[Block], read: Callable[[str], Awaitable[str]] | None
) -> list[Part]:
    """Convert a prompt to parts.

    Args:
        prompt: The editor's content blocks.
        read: Reads a file through the editor; None if the editor does not support that.
    """
    return [await _part(block, read) for block in prompt]


async def _part(block: Block, read: Callable[[str], Awaitable[str]] | None) -> Part:
    match block:
        case TextContentBlock(text=text):
            return Text(text)
        case ImageContentBlock() | AudioContentBlock():
            return File(content=_decoded(block.data), media_type=block.mime_type)
        case EmbeddedResourceContentBlock(resource=resource):
            is_blob = isinstance(resource, BlobResourceContents)
            content = _decoded(resource.blob) if is_blob else resource.text.encode()
            name = _name(resource.uri)
            return File(content=content, media_type=resource.mime_type or "", filename=name)
        case ResourceContentBlock(uri=uri):
            return await _linked(uri, block.name, read)


async def _linked(uri: str, name: str, read: Callable[[str], Awaitable[str]] | None) -> Part:
    """Return a file that the user mentioned, with its content if the editor provides it."""
    parts = urlsplit(uri)
    if parts.scheme == "file" and read is not None:
        try:
            text = await read(unquote(parts.path))
        except RequestError:
            return Text(f"(The file {name})")
        return File(content=text.encode(), media_type="text/plain", filename=_name(uri))
    return Text(f"({name}: {uri})" if parts.scheme in ("http", "https") else f"(The file {name})")


def _name(uri: str) -> str:
    return unquote(urlsplit(uri).path).rpartition("/")[2]


def _decoded(data: str) -> bytes:
    try:
        return base64.b64decode(data)
    except ValueError as error:
        raise RequestError.invalid_params({"details": "the data is not base64"}) from error
