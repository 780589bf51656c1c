"""Asks the caller to approve tool calls, and reads the replies.

The question has a data part for each call, and one with the JSON schema of a reply: an object with
the decisions by the ids of the calls. A text decides about the first call, and the others are asked
again. Any text other than a plain yes or no is the call's result for the model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from agent_framework import Content, Message

from a2a_adapters import (
    Data,
    InputRequired,
    InvalidInputError,
    as_decision,
    as_json,
    as_text,
    tool_arguments,
)

if TYPE_CHECKING:
    from a2a_adapters import Part
    from a2a_adapters_agent_framework.serving.memory import Paused

_CHOICES = "Please reply with approve, or with reject and an alternative."
_IN_TURN = "A text reply answers question 1; {} will be asked next."
_SAYS = "The user did not approve this call, and says: {}"


def question(paused: Paused, hint: str = "") -> InputRequired:
    """Return the question about the calls without a decision.

    Args:
        paused: The run.
        hint: The fault of the last reply, if any.
    """
    waiting = paused.waiting
    prompt = "\n\n".join(filter(None, (hint, _prompt(waiting))))
    properties = {each["id"]: {"type": "boolean", "title": _text(each)} for each in waiting}
    form = {"type": "object", "properties": properties, "required": list(properties)}
    parts = [*map(_payload, waiting), {"response_schema": form}]
    return InputRequired(prompt, [Data(as_json(part)) for part in parts], durable=True)


def answer(paused: Paused, parts: Sequence[Part]) -> Paused:
    """Return the run with the decisions in a reply.

    Raises:
        InvalidInputError: The reply is unclear. It decides nothing.
    """
    open_ids = [each["id"] for each in paused.waiting]
    replies = _by_id(paused, parts) or {open_ids[0]: _whole(parts)}
    if unknown := replies.keys() - set(open_ids):
        raise InvalidInputError(f"The question {min(unknown)} is not open.")
    return paused.with_answers({each: _decision(reply) for each, reply in replies.items()})


def responses(paused: Paused) -> Message:
    """Return the decisions as the message that resumes the run."""
    # The model hears of a rejection with a reason by the call's result, see `rejections`.
    return Message(
        "user",
        [
            Content.from_dict(each).to_function_approval_response(bool(paused.answers[each["id"]]))
            for each in paused.requests
        ],
    )


def rejections(paused: Paused) -> dict[str, str]:
    """Return the results of the calls that are rejected with a reason, by the id of the call."""
    given = ((_call(each)["call_id"], paused.answers[each["id"]]) for each in paused.requests)
    return {call_id: _SAYS.format(reason) for call_id, reason in given if isinstance(reason, str)}


def _prompt(waiting: Sequence[Mapping[str, Any]]) -> str:
    if len(waiting) == 1:
        return f"{_text(waiting[0])}\n{_CHOICES}"
    rest = "the other" if len(waiting) == 2 else "the others"
    lines = [f"{number}. {_text(each)}" for number, each in enumerate(waiting, 1)]
    return "\n".join([*lines, "", _CHOICES, _IN_TURN.format(rest)])


def _text(request: Mapping[str, Any]) -> str:
    call = _call(request)
    shown = as_text([Data(tool_arguments(call["arguments"]))])
    return f"The agent wants to call {call['name']}({shown})."


def _payload(request: Mapping[str, Any]) -> Mapping[str, Any]:
    call = _call(request)
    arguments = tool_arguments(call["arguments"])
    return {"call_id": request["id"], "tool": call["name"], "arguments": arguments}


def _call(request: Mapping[str, Any]) -> Mapping[str, Any]:
    call: Mapping[str, Any] = request["function_call"]
    return call


def _by_id(paused: Paused, parts: Sequence[Part]) -> dict[str, object]:
    """Return the decisions in data parts that name a call of the run."""
    ids = {each["id"] for each in paused.requests}
    found: dict[str, object] = {}
    for value in (part.value for part in parts if isinstance(part, Data)):
        if isinstance(value, Mapping) and not ids.isdisjoint(value):
            found |= value
    return found


def _whole(parts: Sequence[Part]) -> object:
    """Return a reply as one value: its only data part, or its text."""
    values = [part.value for part in parts if isinstance(part, Data)]
    return values[0] if len(values) == len(parts) == 1 else as_text(parts).strip()


def _decision(reply: object) -> bool | str:
    """Return True for a yes, False for a no, otherwise the text for the model.

    Raises:
        InvalidInputError: The reply is neither.
    """
    if isinstance(reply, Mapping):  # of an AG-UI front end
        reply = reply.get("approved")
    if isinstance(reply, bool):
        return reply
    text = reply.strip() if isinstance(reply, str) else ""
    if not text:
        raise InvalidInputError("That decides nothing.")
    is_yes, reason = as_decision(text) or (None, "")
    return text if is_yes is None or reason else is_yes
