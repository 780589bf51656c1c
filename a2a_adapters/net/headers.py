"""The headers of a request as a mapping, made once where it comes in."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.types import Scope

HEADERS = "a2a_adapters.headers"
"""Where the scope of a request that came in by the entrance has its headers."""

FIELD_BYTES = 32
"""What a header counts beyond its name and value, as in HTTP/2 (RFC 9113, section 6.5.2)."""


def read_headers(scope: Scope) -> dict[str, str]:
    """Return the headers by lower-case name; one that came more than once is joined by commas."""
    return joined(
        [(name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]]
    )


def joined(fields: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Return the values by name, those of the same name joined by commas (RFC 9110, 5.3)."""
    found = dict(fields)
    if len(found) == len(fields):
        return found
    values: dict[str, list[str]] = {}
    for name, value in fields:
        values.setdefault(name, []).append(value)
    return {name: ", ".join(several) for name, several in values.items()}


def head_bytes(scope: Scope) -> int:
    """Return how much the address and the headers of a request are, `FIELD_BYTES` each added."""
    headers = scope["headers"]
    fields = len(b"".join(chain.from_iterable(headers)))
    return fields + FIELD_BYTES * len(headers) + len(scope["path"]) + len(scope["query_string"])
