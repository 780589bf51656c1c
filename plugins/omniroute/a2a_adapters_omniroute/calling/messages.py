"""What is said to a gateway: parts of a message that say whose they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from a2a_adapters import File, Part, Text, as_text
from a2a_adapters.dialects import message_parts, struct_to_dict
from a2a_adapters_omniroute.calling.routing import SMART_ROUTING
from a2a_adapters_omniroute.errors import OmniRouteRefusedError

if TYPE_CHECKING:
    from a2a.types import Message

ROLE = "role"
"""Key in a part's metadata: who says it, "system", "user" or "assistant"."""

_ROLES = frozenset({"system", "user", "assistant"})


def said(role: str, text: object) -> Text:
    """Return a message of a dialogue.

    Raises:
        ValueError: It is not text of one of the three.
    """
    if role not in _ROLES or not isinstance(text, str):
        raise ValueError("OmniRoute takes text of the system, the user and the assistant")
    return Text(text, metadata={ROLE: role})


def to_params(message: Message) -> dict[str, Any]:
    """Return a message as a gateway takes it.

    Raises:
        OmniRouteRefusedError: There is a file in it.
    """
    metadata = struct_to_dict(message.metadata)
    asked = metadata.pop("skill", None) or metadata.pop("skill_id", None)
    params = {"skill": asked or SMART_ROUTING, "messages": _messages(message)}
    return {**params, "metadata": metadata} if metadata else params


def _messages(message: Message) -> list[dict[str, Any]]:
    """Return what is said: a message for each part that says whose it is, else one of the user."""
    parts = message_parts(message)
    if not any(ROLE in part.metadata for part in parts):
        return [{"role": "user", "content": "\n".join(map(_text, parts))}]
    return [{"role": part.metadata.get(ROLE, "user"), "content": _text(part)} for part in parts]


def _text(part: Part) -> str:
    if isinstance(part, File):
        raise OmniRouteRefusedError("an OmniRoute gateway takes text, no files or images")
    return as_text([part])
