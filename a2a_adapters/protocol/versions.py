"""Which version of the protocol a call is in (A2A 1.0, section 3.6)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from a2a.utils.errors import VersionNotSupportedError

from a2a_adapters.net.headers import HEADERS

if TYPE_CHECKING:
    from starlette.requests import Request

V1 = "1.0"
V03 = "0.3"

VERSION_STATE = "a2a_version"
"""Key in `ServerCallContext.state` under which every binding leaves the version of the call."""

VERSION_HEADER = "a2a-version"
_VERSION_PARAMETER = "A2A-Version"
_MAJOR_MINOR = re.compile(r"(\d{1,9}\.\d{1,9})(\.\d{1,9})*")


def requested_version(request: Request) -> str:
    """Return the version a client asks for, by header or by query parameter.

    Raises:
        VersionNotSupportedError: It is not served here.
    """
    value = request.scope[HEADERS].get(VERSION_HEADER)
    if value == V1:
        return V1
    return supported(value or request.query_params.get(_VERSION_PARAMETER, ""))


def supported(value: str) -> str:
    """Return the version that `value` means: patch numbers count for nothing, none means 0.3.

    Raises:
        VersionNotSupportedError: It is not served here.
    """
    value = value.strip()
    if not value:
        return V03
    match = _MAJOR_MINOR.fullmatch(value)
    if match is None or match[1] not in (V1, V03):
        raise unsupported(f"A2A version {value[:20]!a} is not supported here")
    return match[1]


def unsupported(reason: str) -> VersionNotSupportedError:
    """Return the error that tells which versions there are."""
    return VersionNotSupportedError(reason, {"supportedVersions": f"{V1}, {V03}"})
