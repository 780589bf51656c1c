"""Asks the caller to approve tool calls or to answer a remote agent, and reads the replies.

Each pending call is a data part of the question. A text reply answers all of them; a data part
that maps call ids to decisions answers only those, and the rest are asked again. Any text other
than a plain yes or no rejects the call and goes to the model, which may call again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from a2a_adapters import AuthRequired, Data, InputRequired, InvalidInputError, Part
from a2a_adapters.conversing import APPROVAL_CHOICES, approval, refused_call
from a2a_adapters.plugin import as_text, tool_arguments

if TYPE_CHECKING:
    from agents import RunState, ToolApprovalItem

    from a2a_adapters.plugin import JSON
    from a2a_adapters_openai_agents.serving.memory import Question


def question(calls: Sequence[ToolApprovalItem], hint: str = "") -> InputRequired:
    """Return the question for the caller.

    Args:
        calls: The pending calls.
        hint: The fault of the last reply, if any.
    """
    lines = [f"{call.agent.name} wants to call {call.name}({call.arguments})." for call in calls]
    prompt = "\n\n".join(filter(None, (hint, "\n".join(lines), APPROVAL_CHOICES)))
    return InputRequired(prompt, [Data(_payload(call)) for call in calls], durable=True)


def asking(question: Question) -> InputRequired:
    """Return the question of the remote agent that is the model of an agent."""
    kind = AuthRequired if question.needs_auth else InputRequired
    return kind(question.asked, durable=True)


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
            state.reject(call, rejection_message=refused_call(decision) if decision else None)


def _decisions(parts: Sequence[Part], call_ids: set[str]) -> Mapping[str, bool | str]:
    mappings = [
        part.value for part in parts if isinstance(part, Data) and isinstance(part.value, Mapping)
    ]
    if not mappings:
        return dict.fromkeys(call_ids, approval(as_text(parts)))
    decisions: dict[str, bool | str] = {}
    for mapping in mappings:
        if unknown := mapping.keys() - call_ids:
            raise InvalidInputError(f"No call {min(unknown)} waits.")
        decisions |= {call_id: approval(given) for call_id, given in mapping.items()}
    return decisions


def _payload(call: ToolApprovalItem) -> dict[str, JSON]:
    return {
        "call_id": _id(call),
        "agent": call.agent.name,
        "tool": call.name,
        "arguments": tool_arguments(call.arguments or ""),
    }


def _id(call: ToolApprovalItem) -> str:
    return call.call_id or ""
