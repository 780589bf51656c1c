"""Messages to a gateway: message parts with roles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from a2a_adapters import File, Part, Text
from a2a_adapters.dialects import message_parts, struct_to_dict
from a2a_adapters.plugin import as_text
from a2a_adapters_omniroute.calling.routing import SMART_ROUTING
from a2a_adapters_omniroute.errors import OmniRouteRefusedError

if TYPE_CHECKING:
    from a2a.types import Message

ROLE = "role"
"""Metadata key of a part: its role, "system", "user" or "assistant"."""

_ROLES = frozenset({"system", "user", "assistant"})


def with_role(role: str, text: object) -> Text:
    """Return a message with a role.

    Raises:
        ValueError: The role is unknown, or the content is not text.
    """
    if role not in _ROLES or not isinstance(text, str):
        raise ValueError("OmniRoute supports only text of the roles system, user and assistant")
    return Text(text, metadata={ROLE: role})


def to_params(message: Message) -> dict[str, Any]:
    """Return a message in the gateway's format.

    Raises:
        OmniRouteRefusedError: The message contains a file.
    """
    metadata = struct_to_dict(message.metadata)
    asked = metadata.pop("skill", None) or metadata.pop("skill_id", None)
    params = {"skill": asked or SMART_ROUTING, "messages": _messages(message)}
    return {**params, "metadata": metadata} if metadata else params


def _messages(message: Message) -> list[dict[str, Any]]:
    """Return a message for each part with a role, else a single message of the user."""
    parts = message_parts(message)
    if not any(ROLE in part.metadata for part in parts):
        return [{"role": "user", "content": "\n".join(map(_text, parts))}]
    return [{"role": part.metadata.get(ROLE, "user"), "content": _text(part)} for part in parts]


def _text(part: Part) -> str:
    if isinstance(part, File):
        raise OmniRouteRefusedError("OmniRoute gateways support only text, not files or images")
    return as_text([part])
