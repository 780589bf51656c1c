"""Request headers, and the protocol version that they request (A2A 1.0, section 3.6)."""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING

from a2a.utils.errors import VersionNotSupportedError

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from starlette.requests import Request
    from starlette.types import Scope

HEADERS = "a2a_adapters.headers"
"""Key of the parsed headers in a request's scope, set by `serving.entrance`."""

FIELD_BYTES = 32
"""Bytes counted for a header beyond its name and value, as in HTTP/2 (RFC 9113, section 6.5.2)."""

V1 = "1.0"
V03 = "0.3"
V11 = "1.1"
"""Served only as a preview: it is a draft."""

VERSION_STATE = "a2a_version"
"""Key in `ServerCallContext.state` under which every binding stores the version of the call."""

VERSION_HEADER = "a2a-version"
_VERSION_PARAMETER = "A2A-Version"
_MAJOR_MINOR = re.compile(r"(\d{1,9}\.\d{1,9})(\.\d{1,9})*")


def read_headers(scope: Scope) -> dict[str, str]:
    """Return the headers by lower-case name; values of repeated headers are joined by commas."""
    return joined(
        [(name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]]
    )


def joined(fields: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Return values by name; values of the same name are joined by commas (RFC 9110, 5.3)."""
    found = dict(fields)
    if len(found) == len(fields):
        return found
    values: dict[str, list[str]] = {}
    for name, value in fields:
        values.setdefault(name, []).append(value)
    return {name: ", ".join(several) for name, several in values.items()}


def head_bytes(scope: Scope) -> int:
    """Return the size of a request's target and headers, with `FIELD_BYTES` for each header."""
    headers = scope["headers"]
    fields = len(b"".join(chain.from_iterable(headers)))
    return fields + FIELD_BYTES * len(headers) + len(scope["path"]) + len(scope["query_string"])


def requested_version(request: Request, previews: Collection[str] = ()) -> str:
    """Return the version that a client requests, by header or by query parameter.

    Args:
        request: The request.
        previews: The drafted versions that are supported as well.

    Raises:
        VersionNotSupportedError: The version is not supported.
    """
    value = request.scope[HEADERS].get(VERSION_HEADER)
    if value == V1:
        return V1
    return supported(value or request.query_params.get(_VERSION_PARAMETER, ""), previews)


def supported(value: str, previews: Collection[str] = ()) -> str:
    """Return the supported version for `value`; patch numbers are ignored, empty means 0.3.

    Raises:
        VersionNotSupportedError: The version is not supported.
    """
    value = value.strip()
    if not value:
        return V03
    match = _MAJOR_MINOR.fullmatch(value)
    if match is None or match[1] not in (V1, V03, *previews):
        raise unsupported(f"A2A version {value[:20]!a} is not supported here", previews)
    return match[1]


def unsupported(reason: str, previews: Collection[str] = ()) -> VersionNotSupportedError:
    """Return an error that lists the supported versions."""
    return VersionNotSupportedError(reason, {"supportedVersions": ", ".join((*previews, V1, V03))})
