"""Sanitised descriptions of an MCP server, which is untrusted."""

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
"""Limit that keeps the card readable."""

Named = TypeVar("Named", Tool, Prompt)

logger = logging.getLogger(__name__)


def text_of(text: str) -> str:
    """Return a text without invisible characters, shortened."""
    seen = (c if c.isprintable() or c in "\n\t" else " " for c in text[:_TEXT_LENGTH])
    more = "…" if len(text) > _TEXT_LENGTH else ""
    return "".join(seen) + more


@dataclass(frozen=True, slots=True)
class Offer:
    """The tools, prompts and resources of a server.

    Attributes:
        tools: Its tools by name.
        prompts: Its prompts by name.
        resources: URIs and URI templates of its resources, with descriptions.
    """

    tools: Mapping[str, Tool]
    prompts: Mapping[str, Prompt]
    resources: Sequence[str]


def usable(tools: Sequence[Named]) -> dict[str, Named]:
    """Return tools or prompts by name, without those with unusable names.

    The latter are logged.
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
            "an MCP server has %d %ss, of which %d have usable names; not %s, for instance",
            len(tools),
            type(tools[0]).__name__.lower(),
            len(found),
            quote(left, NAME_LENGTH) or "an unnamed one",
        )
    return found


def listed(resources: Sequence[Resource | ResourceTemplate]) -> Sequence[str]:
    """Return the URIs of resources with their descriptions."""
    return [
        f"{each.uriTemplate if isinstance(each, ResourceTemplate) else each.uri}: "
        f"{each.description or each.title or each.name}"
        for each in resources
    ]


def properties_of(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the properties of a schema; empty for invalid ones."""
    found = schema.get("properties")
    return found if isinstance(found, Mapping) else {}


def required_of(schema: Mapping[str, Any]) -> list[str]:
    """Return the properties that a schema requires."""
    found = schema.get("required")
    return [str(name) for name in found] if isinstance(found, list) else []
