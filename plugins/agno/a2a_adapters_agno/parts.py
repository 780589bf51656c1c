"""Message parts in Agno's format: A2A 0.3, with wrapped data in Agno-Go."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Any

from pydantic_core import from_json, to_json

from a2a_adapters import Data, File, Part, Text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_JSON = "application/json"


def encode(parts: Iterable[Part], *, wrap_data: bool = False) -> list[dict[str, Any]]:
    """Return parts as JSON; `wrap_data` makes data `{content, mimeType}`."""
    return [_encode(part, wrap_data=wrap_data) for part in parts]


def decode(parts: object, *, wrapped_data: bool = False) -> list[Part]:
    """Parse parts, whose `kind` may be missing.

    With `wrapped_data`, data may be `{content, mimeType}`.

    Raises:
        ValueError: A part is invalid.
    """
    if not isinstance(parts, list):
        raise ValueError("parts must be a list")  # noqa: TRY004 - a wire error
    return [_decode(part, f"part at index {n}", wrapped_data) for n, part in enumerate(parts)]


def _encode(part: Part, *, wrap_data: bool) -> dict[str, Any]:
    match part:
        case Text(text=text):
            return {"kind": "text", "text": text}
        case File():
            return {"kind": "file", "file": _encode_file(part)}
        case Data(value=value) if wrap_data:
            envelope = {"content": to_json(value).decode(), "mimeType": _JSON}
            return {"kind": "data", "data": envelope}
        case Data(value=value):
            return {"kind": "data", "data": value if isinstance(value, dict) else {"value": value}}


def _encode_file(file: File) -> dict[str, str]:
    content = (
        {"uri": file.url}
        if file.url
        else {"bytes": base64.b64encode(file.content or b"").decode("ascii")}
    )
    named = {"mimeType": file.media_type, "name": file.filename}
    return {**content, **{key: value for key, value in named.items() if value}}


def _decode(part: object, where: str, wrapped_data: bool) -> Part:
    match part:
        case {"text": str(text)}:
            return Text(text)
        case {"file": dict(file)}:
            return _decode_file(file, where)
        case {"data": {"content": content, "mimeType": media_type}} if wrapped_data:
            return Data(_unwrapped(content, media_type))
        case {"data": data} if data is not None:
            return Data(data)
        case _:
            raise ValueError(f"invalid {where}: expected text, file or data")


def _decode_file(file: Mapping[str, Any], where: str) -> File:
    media_type, name = str(file.get("mimeType") or ""), str(file.get("name") or "")
    match file:
        case {"uri": str(uri)} if uri:
            return File(url=uri, media_type=media_type, filename=name)
        case {"bytes": str(text)}:
            try:
                content = binascii.a2b_base64(text, strict_mode=True)
                return File(content=content, media_type=media_type, filename=name)
            except ValueError as error:
                raise ValueError(f"invalid {where}: bytes must be base64") from error
        case _:
            raise ValueError(f"invalid {where}: a file has a uri or bytes")


def _unwrapped(content: object, media_type: object) -> object:
    """Return the content of an envelope; parse text declared as JSON."""
    if isinstance(content, str) and media_type == _JSON:
        try:
            return from_json(content, allow_inf_nan=False)
        except ValueError:
            return content
    return content
