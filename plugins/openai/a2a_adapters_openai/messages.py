"""Messages of OpenAI's clients as parts of A2A messages."""

from __future__ import annotations

import binascii
import hashlib
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote_to_bytes

from a2a_adapters import File, Part, Text
from a2a_adapters.plugin import dialogue
from a2a_adapters_openai.errors import ApiError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

USER, ASSISTANT, SYSTEM, TOOL = "User", "Assistant", "System", "Tool"
_SPEAKERS = {
    "user": USER,
    "assistant": ASSISTANT,
    "system": SYSTEM,
    "developer": SYSTEM,
    "tool": TOOL,
    "function": TOOL,
}
_DATA_URL = re.compile(r"data:([^,;]*)((?:;[^,;]*)*),", re.IGNORECASE)
_SHOWN_REASONING = re.compile(
    r'<details type="reasoning"(?:.*?</details>\s*|(?P<unclosed>.*))', re.DOTALL
)
"""Reasoning in the text of an answer, as Open WebUI keeps it.

An unclosed element is matched up to the end of the text, so that matching takes linear time.
"""


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message of a conversation.

    Attributes:
        speaker: `USER`, `ASSISTANT`, `SYSTEM` or `TOOL`.
        parts: The content.
    """

    speaker: str
    parts: Sequence[Part]

    def fold(self, before: bytes) -> bytes:
        """Return the digest of a conversation extended by this message."""
        texts = [part.text for part in self.parts if isinstance(part, Text)]
        files = [_file_digest(part) for part in self.parts if isinstance(part, File)]
        content = json.dumps([self.speaker, "\n".join(texts).strip(), files])
        return hashlib.sha256(before + content.encode(errors="surrogatepass")).digest()


def read_message(role: object, content: object, where: str) -> ChatMessage:
    """Return a message of a request.

    Raises:
        ApiError: Its role or content is unknown; the error names the field.
    """
    if not isinstance(role, str) or role not in _SPEAKERS:
        known = ", ".join(_SPEAKERS)
        raise ApiError(400, f"{where}.role must be one of {known}", param=f"{where}.role")
    parts = _parts(content, f"{where}.content")
    if role == "assistant":
        parts = [_without_reasoning(part) for part in parts]
    return ChatMessage(_SPEAKERS[role], parts)


def to_parts(messages: Iterable[ChatMessage]) -> list[Part]:
    """Return messages as the parts of a single A2A message, with their speakers as labels.

    Messages of the user alone have no labels. A part holds as much text as possible, because the
    number of parts is limited.
    """
    joined: list[Part] = []
    for part in dialogue((each.speaker, each.parts) for each in messages):
        last = joined[-1] if joined else None
        if isinstance(part, Text) and isinstance(last, Text):
            joined[-1] = Text(f"{last.text}\n\n{part.text}")
        else:
            joined.append(part)
    return joined


def _without_reasoning(part: Part) -> Part:
    if not isinstance(part, Text):
        return part
    return Text(
        _SHOWN_REASONING.sub(lambda found: "" if found["unclosed"] is None else found[0], part.text)
    )


def _parts(content: object, where: str) -> list[Part]:
    match content:
        case None:
            return []
        case str():
            return [Text(content)] if content else []
        case list():
            return [_part(part, f"{where}[{n}]") for n, part in enumerate(content)]
        case _:
            raise ApiError(400, f"{where} must be text or a list of parts", param=where)


def _part(part: object, where: str) -> Part:
    match part:
        case {"type": "text" | "input_text" | "output_text", "text": str(text)} | {
            "type": "refusal",
            "refusal": str(text),
        }:
            return Text(text)
        case {"type": "image_url", "image_url": {"url": str(url)}} | {
            "type": "input_image",
            "image_url": str(url),
        }:
            return _file(url, "", where)
        case {"type": "input_audio", "input_audio": {"data": str(data), "format": str(kind)}}:
            return File(content=_decoded(data, where), media_type=f"audio/{kind}")
        case {"type": "file", "file": dict(inner)}:
            return _document(inner, where)
        case {"type": "input_file", **outer}:
            return _document(outer, where)
        case {"type": str(kind)}:
            raise ApiError(400, f"{where}: unsupported part {kind!r:.60}", param=where)
        case _:
            raise ApiError(400, f"{where} must be an object with a type", param=where)


def _document(file: Mapping[Any, Any], where: str) -> File:
    name = file.get("filename")
    name = name if isinstance(name, str) else ""
    match file:
        case {"file_data": str(data)}:
            if data[:5].lower() == "data:":
                return _file(data, name, where)
            return File(content=_decoded(data, where), filename=name)
        case {"file_url": str(url)}:
            return _file(url, name, where)
        case _:
            text = f"{where}: send the file as file_data or file_url; this server stores no files"
            raise ApiError(400, text, param=where)


def _file(url: str, name: str, where: str) -> File:
    """Return a file with its URL, or with its bytes if that is a data URL."""
    if url[:5].lower() != "data:":
        if not url:
            raise ApiError(400, f"{where}: the address is empty", param=where)
        # The agent's outbound policy decides whether it may be fetched.
        return File(url=url, filename=name)
    head = _DATA_URL.match(url)
    if head is None:
        raise ApiError(400, f"{where}: the data URL is invalid", param=where)
    data = url[head.end() :]
    is_base64 = head[2].lower().endswith(";base64")
    content = _decoded(data, where) if is_base64 else unquote_to_bytes(data)
    return File(content=content, media_type=head[1].lower(), filename=name)


def _decoded(data: str, where: str) -> bytes:
    try:
        return binascii.a2b_base64(data, strict_mode=True)
    except ValueError as error:
        raise ApiError(400, f"{where}: the data is not base64", param=where) from error


def _file_digest(file: File) -> str:
    content = file.content if file.content is not None else (file.url or "").encode()
    return hashlib.sha256(content).hexdigest()
