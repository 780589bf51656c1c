"""Refuses requests whose headers a proxy in front may understand differently."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING

from a2a_adapters.security.refusals import Refusal

if TYPE_CHECKING:
    from collections.abc import Mapping

HOST = r"(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._~!$&'()*+;=%-]*)"
"""A host in a URI (RFC 3986, section 3.2.2), without zones and without commas."""

_AUTHORITY = re.compile(rf"{HOST}(?::\d*)?", re.ASCII)
_LONGEST = 300
"""Exceeds the longest host name (RFC 1035, section 2.3.4) with a port."""

_CLOSE = {"Connection": "close"}
_HOST = Refusal(400, "INVALID_ARGUMENT", "the request needs one valid header Host", _CLOSE)
_CODING = Refusal(
    400,
    "INVALID_ARGUMENT",
    "the header Transfer-Encoding may only be chunked, without Content-Length",
    _CLOSE,
)


def malformed(headers: Mapping[str, str]) -> Refusal | None:
    """Return the reason to refuse a request with several hosts or lengths, or None.

    Args:
        headers: The headers by lower-case name; values of repeated headers are joined by commas.
    """
    host = headers.get("host")
    if host is not None and (len(host) > _LONGEST or not _is_authority(host)):
        return _HOST
    coding = headers.get("transfer-encoding")
    if coding is not None and (coding.lower() != "chunked" or "content-length" in headers):
        return _CODING
    return None


@functools.lru_cache(maxsize=64)  # bounded, because clients choose the values
def _is_authority(host: str) -> bool:
    return _AUTHORITY.fullmatch(host) is not None
