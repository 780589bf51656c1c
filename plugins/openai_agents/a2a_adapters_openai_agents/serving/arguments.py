"""The arguments of a tool's call, as a model writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from pydantic_core import from_json

if TYPE_CHECKING:
    from a2a_adapters import JSON


def parsed(arguments: str) -> JSON:
    """Return arguments as JSON, or as the text they are if they are none."""
    try:
        return cast("JSON", from_json(arguments)) if arguments else None
    except ValueError:
        return arguments
