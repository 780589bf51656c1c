"""The headers of a request as a mapping, made once for all who read them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.types import Scope

_KEY = "a2a_adapters.headers"


def headers_of(scope: Scope) -> dict[str, str]:
    """Return the headers by lower-case name; one that came more than once is joined by commas."""
    found: dict[str, str] | None = scope.get(_KEY)
    if found is None:
        found = scope[_KEY] = {}
        for raw_name, raw_value in scope["headers"]:
            name, value = raw_name.decode("latin-1"), raw_value.decode("latin-1")
            found[name] = f"{found[name]}, {value}" if name in found else value
    return found
