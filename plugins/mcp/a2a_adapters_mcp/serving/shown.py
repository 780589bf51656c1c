"""What a server writes, fit to be shown: it is a stranger, whoever has named it."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from a2a_adapters.dialects import quote

if TYPE_CHECKING:
    from mcp.types import Tool

NAME_LENGTH = 100
ABOUT_LENGTH = 1_000

_TEXT_LENGTH = 4_000
_TOOL_NAME_LENGTH = 128
_TOOLS = 1_000
"""More would make a card that nobody reads."""

logger = logging.getLogger(__name__)


def text_of(text: str) -> str:
    """Return a text for the caller without what cannot be seen, and not too long."""
    seen = (c if c.isprintable() or c in "\n\t" else " " for c in text[:_TEXT_LENGTH])
    more = "…" if len(text) > _TEXT_LENGTH else ""
    return "".join(seen) + more


def usable(tools: Sequence[Tool]) -> dict[str, Tool]:
    """Return tools by their names, without those that cannot be named; the log tells of these."""
    named = {
        tool.name: tool
        for tool in tools
        if 0 < len(tool.name) <= _TOOL_NAME_LENGTH and tool.name.isprintable()
    }
    found = dict(list(named.items())[:_TOOLS])
    if len(found) < len(tools):
        left = next((tool.name for tool in tools if tool.name not in found), "")
        logger.warning(
            "an MCP server has %d tools of which %d can be called; not %s, for instance",
            len(tools),
            len(found),
            quote(left, NAME_LENGTH) or "one without a name",
        )
    return found


def properties_of(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the properties of a schema; none if it is none."""
    found = schema.get("properties")
    return found if isinstance(found, Mapping) else {}


def required_of(schema: Mapping[str, Any]) -> list[str]:
    """Return the properties that a schema requires."""
    found = schema.get("required")
    return [str(name) for name in found] if isinstance(found, list) else []
