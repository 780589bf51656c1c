"""What a server writes, fit to be shown: it is a stranger, whoever has named it."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from mcp.types import Prompt, Resource, ResourceTemplate, Tool

from a2a_adapters.dialects import quote

NAME_LENGTH = 100
ABOUT_LENGTH = 1_000

_TEXT_LENGTH = 4_000
_TOOL_NAME_LENGTH = 128
_TOOLS = 1_000
"""More would make a card that nobody reads."""

Named = TypeVar("Named", Tool, Prompt)

logger = logging.getLogger(__name__)


def text_of(text: str) -> str:
    """Return a text for the caller without what cannot be seen, and not too long."""
    seen = (c if c.isprintable() or c in "\n\t" else " " for c in text[:_TEXT_LENGTH])
    more = "…" if len(text) > _TEXT_LENGTH else ""
    return "".join(seen) + more


@dataclass(frozen=True, slots=True)
class Offer:
    """What a server has.

    Attributes:
        tools: Its tools by their names.
        prompts: Its prompts by their names.
        resources: The addresses of its resources, with what they are, and templates of addresses.
    """

    tools: Mapping[str, Tool]
    prompts: Mapping[str, Prompt]
    resources: Sequence[str]


def usable(tools: Sequence[Named]) -> dict[str, Named]:
    """Return tools or prompts by their names, without those that cannot be named.

    The log tells of these.
    """
    named = {
        tool.name: tool
        for tool in tools
        if 0 < len(tool.name) <= _TOOL_NAME_LENGTH and tool.name.isprintable()
    }
    found = dict(list(named.items())[:_TOOLS])
    if len(found) < len(tools):
        left = next((tool.name for tool in tools if tool.name not in found), "")
        logger.warning(
            "an MCP server has %d %ss of which %d can be called; not %s, for instance",
            len(tools),
            type(tools[0]).__name__.lower(),
            len(found),
            quote(left, NAME_LENGTH) or "one without a name",
        )
    return found


def listed(resources: Sequence[Resource | ResourceTemplate]) -> Sequence[str]:
    """Return the addresses of resources, each with what it is."""
    return [
        f"{each.uriTemplate if isinstance(each, ResourceTemplate) else each.uri}: "
        f"{each.description or each.title or each.name}"
        for each in resources
    ]


def properties_of(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the properties of a schema; none if it is none."""
    found = schema.get("properties")
    return found if isinstance(found, Mapping) else {}


def required_of(schema: Mapping[str, Any]) -> list[str]:
    """Return the properties that a schema requires."""
    found = schema.get("required")
    return [str(name) for name in found] if isinstance(found, list) else []
