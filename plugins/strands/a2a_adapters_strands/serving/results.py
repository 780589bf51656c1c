"""Reads the messages of results, and converts their files and their data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from strands.multiagent.base import MultiAgentResult

from a2a_adapters import File, Output
from a2a_adapters.plugin import as_output

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from a2a_adapters import AgentEvent

_MEDIA_TYPES = {
    "csv": "text/csv", "doc": "application/msword", "gif": "image/gif", "html": "text/html",
    "jpeg": "image/jpeg", "md": "text/markdown", "mov": "video/quicktime", "mp4": "video/mp4",
    "mpeg": "video/mpeg", "pdf": "application/pdf", "png": "image/png", "txt": "text/plain",
    "webm": "video/webm", "webp": "image/webp",
}  # fmt: skip
_KINDS = ("image", "document", "video")


def text_of(content: list[dict[str, Any]]) -> str:
    """Return the text of a message, with that of its citations."""
    texts = []
    for block in content:
        if "text" in block:
            texts.append(block["text"])
        elif "citationsContent" in block:
            parts = block["citationsContent"].get("content", ())
            texts += [part["text"] for part in parts if "text" in part]
    return "".join(texts)


def text_of_result(result: object) -> str:
    """Return the text of the message of a result."""
    message = message_of(result)
    return text_of(message["content"]) if message is not None else ""


def message_of(result: object) -> Mapping[str, Any] | None:
    """Return the message of a result, or of its last member's result, if it is from an agent."""
    message: Mapping[str, Any] | None = getattr(_last(result), "message", None)
    return message if message is not None and message["role"] == "assistant" else None


def files_of(message: Mapping[str, Any] | None) -> Iterator[AgentEvent]:
    """Yield the files of a message."""
    blocks: Iterable[Mapping[str, Any]] = message["content"] if message is not None else ()
    for block in blocks:
        for kind in _KINDS:
            if kind in block:
                yield from _file(block[kind])


def data_of(result: object) -> Iterator[AgentEvent]:
    """Yield the structured output of a result, or that of its last member."""
    if (output := getattr(_last(result), "structured_output", None)) is not None:
        schema = type(output).model_json_schema()
        if converted := as_output(output, schema=schema):
            yield converted


def media_type_of(form: str) -> str:
    """Return the media type of the framework's name of a format; "" if it is not known."""
    return _MEDIA_TYPES.get(form, "")


def _last(result: Any) -> object:
    """Return the result of the last member of a team, or a result of another kind as it is."""
    while isinstance(result, MultiAgentResult):
        *_, last = result.results.values() or (None,)
        result = last and last.result
    return result


def _file(block: Mapping[str, Any]) -> Iterator[AgentEvent]:
    content = block["source"].get("bytes")
    if content is not None:
        media_type, filename = media_type_of(block["format"]), block.get("name", "")
        yield Output([File(content=content, media_type=media_type, filename=filename)])
