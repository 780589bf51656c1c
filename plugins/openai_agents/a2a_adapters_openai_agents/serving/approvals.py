"""Asks the caller to approve tool calls, and reads the replies.

Each pending call is a data part of the question. A text reply answers all of them; a data part
that maps call ids to decisions answers only those, and the rest are asked again. Any text other
than a plain yes or no rejects the call and goes to the model, which may call again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from a2a_adapters import (
    Data,
    InputRequired,
    InvalidInputError,
    Part,
    as_decision,
    as_text,
    tool_arguments,
)

if TYPE_CHECKING:
    from agents import RunState, ToolApprovalItem

    from a2a_adapters import JSON

_CHOICES = "Please reply with approve, or with reject and an alternative."
_SAYS = "The user did not approve this call, and says: {}"


def question(calls: Sequence[ToolApprovalItem], hint: str = "") -> InputRequired:
    """Return the question for the caller.

    Args:
        calls: The pending calls.
        hint: The fault of the last reply, if any.
    """
    lines = [f"{call.agent.name} wants to call {call.name}({call.arguments})." for call in calls]
    prompt = "\n\n".join(filter(None, (hint, "\n".join(lines), _CHOICES)))
    return InputRequired(prompt, [Data(_payload(call)) for call in calls], durable=True)


def decide(state: RunState[Any, Any], parts: Sequence[Part]) -> None:
    """Apply the caller's decisions to a run.

    Raises:
        InvalidInputError: The reply is unclear; no decision is applied.
    """
    calls = state.get_interruptions()
    decisions = _decisions(parts, {_id(call) for call in calls})
    for call in calls:
        if (decision := decisions.get(_id(call))) is None:
            continue
        if decision is True:
            state.approve(call)
        else:
            state.reject(call, rejection_message=_SAYS.format(decision) if decision else None)


def _decisions(parts: Sequence[Part], call_ids: set[str]) -> Mapping[str, bool | str]:
    mappings = [
        part.value for part in parts if isinstance(part, Data) and isinstance(part.value, Mapping)
    ]
    if not mappings:
        return dict.fromkeys(call_ids, _decision(as_text(parts)))
    decisions: dict[str, bool | str] = {}
    for mapping in mappings:
        if unknown := mapping.keys() - call_ids:
            raise InvalidInputError(f"No call {min(unknown)} waits.")
        decisions |= {call_id: _decision(given) for call_id, given in mapping.items()}
    return decisions


def _decision(given: object) -> bool | str:
    """Return True for a yes, False for a no, otherwise the text for the model."""
    if isinstance(given, bool):
        return given
    text = given.strip() if isinstance(given, str) else ""
    if not text:
        raise InvalidInputError("That decides nothing.")
    is_yes, reason = as_decision(text) or (None, "")
    return text if is_yes is None or reason else is_yes


def _payload(call: ToolApprovalItem) -> dict[str, JSON]:
    return {
        "call_id": _id(call),
        "agent": call.agent.name,
        "tool": call.name,
        "arguments": tool_arguments(call.arguments or ""),
    }


def _id(call: ToolApprovalItem) -> str:
    return call.call_id or ""
