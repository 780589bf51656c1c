"""The headers that the user has typed into the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.types import Scope

_NAMES = "console-forward"
"""The header by which the page tells them from the browser's own."""


def typed_headers(scope: Scope) -> dict[str, str]:
    """Return what a request of the page has for the agent, by names in lower case."""
    found = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
    names = [name.strip().lower() for name in found.get(_NAMES, "").split(",")]
    return {name: found[name] for name in names if name in found}
