"""Text replies to questions of `HumanInTheLoopMiddleware`, which wants decisions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_YES = {"approve", "approved", "yes", "y", "ok", "okay", "accept", "confirm", "continue", "go"}
_NO = {"reject", "rejected", "no", "n", "deny", "decline", "cancel", "stop"}
_CHOICES = "Please reply with: {}."

Decision = dict[str, object]


class UnclearReplyError(Exception):
    """The reply does not answer the question; the text says what would."""


def is_approval(value: object) -> bool:
    """Whether an interrupt's payload is that middleware's."""
    return isinstance(value, Mapping) and (
        {"action_requests", "review_configs"} <= value.keys()
        or value.get("type") == "tool_approval"
    )


def approval_prompt(value: Mapping[str, Any], schema: Mapping[str, Any] | None) -> str:
    """Return the question as text."""
    requests = value.get("action_requests", [value])
    lines = [str(request.get("description") or request["name"]) for request in requests]
    return "\n\n".join([*lines, _CHOICES.format(_choices(value, schema))])


def approval_of_text(
    value: Mapping[str, Any], schema: Mapping[str, Any] | None, text: str
) -> object:
    """Return what "approve", "no, because ..." and the like mean to the middleware.

    A decision is for all actions the question lists.

    Raises:
        UnclearReplyError: The text is no decision, or one that is not allowed.
    """
    decision = _decision(text, only_answer=_allowed(value, schema) == {"respond"})
    if decision is None or decision["type"] not in _allowed(value, schema):
        raise UnclearReplyError("That is none of the decisions that can be made.")
    if "action_requests" in value:
        return {"decisions": [decision] * len(value["action_requests"])}
    return decision


def approval_of_data(value: Mapping[str, Any], data: object) -> object:
    """Return a data part as it is, but a bare decision in the form a list of actions needs.

    Raises:
        UnclearReplyError: There is not one allowed decision for each action.
    """
    if "action_requests" not in value:
        return data
    count = len(value["action_requests"])
    decisions = data.get("decisions", [data]) if isinstance(data, Mapping) else data
    allowed = [set(config["allowed_decisions"]) for config in value["review_configs"]]
    if not isinstance(decisions, list) or len(decisions) != count:
        raise UnclearReplyError(f"Please send {count} decisions, one for each action.")
    for decision, types in zip(decisions, allowed, strict=False):
        if not isinstance(decision, Mapping) or decision.get("type") not in types:
            raise UnclearReplyError(f"Please send decisions of type: {', '.join(sorted(types))}.")
    return {"decisions": decisions}


def agrees(text: str) -> bool | None:
    """Return whether a reply is a plain yes or a no; None if it is neither."""
    decision = _decision(text, only_answer=False)
    return None if decision is None else decision["type"] == "approve"


def _decision(text: str, *, only_answer: bool) -> Decision | None:
    if only_answer:
        return {"type": "respond", "message": text}
    first, _, reason = re.sub(r"^\W+", "", text).partition(" ")
    word = re.sub(r"\W+$", "", first).lower()
    reason = re.sub(r"^(\W|because\b|reason\b)+", "", reason.strip())
    if word in _YES and not reason:  # "yes, but ..." is no approval
        return {"type": "approve"}
    if word in _NO:
        return {"type": "reject", "message": reason} if reason else {"type": "reject"}
    return None


def _allowed(value: Mapping[str, Any], schema: Mapping[str, Any] | None) -> set[str]:
    """Return the types of decision that every action allows."""
    if configs := value.get("review_configs"):
        return set.intersection(*(set(config["allowed_decisions"]) for config in configs))
    return set(_types(schema or {}))


def _types(schema: object) -> list[str]:
    """Find the decision types in the schema of a single tool's approval."""
    match schema:
        case {"properties": {"type": {"const": str(name)}}}:
            return [name]
        case Mapping():
            return [name for value in schema.values() for name in _types(value)]
        case list():
            return [name for value in schema for name in _types(value)]
    return []


def _choices(value: Mapping[str, Any], schema: Mapping[str, Any] | None) -> str:
    allowed = _allowed(value, schema)
    if allowed == {"respond"}:
        return "your answer"
    words = {"approve": "approve", "reject": "reject and a reason"}
    named = [text for name, text in words.items() if name in allowed]
    by_data = sorted(allowed - words.keys())
    return ", ".join([*named, *(f"a data part of type {name}" for name in by_data)])
