"""Bytes in JSON: base64 (RFC 4648), in the standard or the URL-safe alphabet, padded or not."""

from __future__ import annotations

import binascii

from google.protobuf.json_format import ParseError

_NOT_PROTOCOL = frozenset({"data", "metadata"})
"""Fields that hold values of an agent's own."""


def standard_base64(text: str) -> str:
    """Return base64 in the standard alphabet and padded.

    Raises:
        ValueError: It is no base64.
    """
    standard = text.replace("-", "+").replace("_", "/")
    if not standard.endswith("="):
        standard += "=" * (-len(standard) % 4)
    binascii.a2b_base64(standard, strict_mode=True)
    return standard


def check_bytes(message: object, field: str = "raw") -> None:
    """Refuse bytes that are no base64, anywhere in a message of ProtoJSON.

    protobuf skips over characters that do not belong to it: of anything comes a file, mostly
    an empty one.

    Raises:
        google.protobuf.json_format.ParseError: What `field` holds is no base64.
    """
    if isinstance(message, list):
        for item in message:
            check_bytes(item, field)
    elif isinstance(message, dict):
        for key, value in message.items():
            if key == field and isinstance(value, str):
                _check(value, field)
            elif key not in _NOT_PROTOCOL:
                check_bytes(value, field)


def _check(text: str, field: str) -> None:
    try:
        standard_base64(text)
    except ValueError as error:
        raise ParseError(f"{field} is not base64") from error
