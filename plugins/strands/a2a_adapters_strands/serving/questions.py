"""Asks the caller about a run's interrupts, and reads the replies.

The question has a data part for each interrupt, and one with the JSON schema of a reply: an object
with the answers by the ids of the interrupts. Any other reply answers the first interrupt, and the
others are asked again. A `reason` with a `response_schema` describes its answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from a2a_adapters import JSON, Data, InputRequired, InvalidInputError, as_json, as_text

if TYPE_CHECKING:
    from a2a_adapters import Part
    from a2a_adapters_strands.serving.memory import Paused

_IN_TURN = "A text reply answers question 1; {} will be asked next."
_TEXT_KEYS = ("question", "prompt", "message", "description")


def question(paused: Paused, hint: str = "") -> InputRequired:
    """Return the question about the interrupts without an answer.

    Args:
        paused: The run.
        hint: The fault of the last reply, if any.
    """
    prompt = "\n\n".join(filter(None, (hint, _prompt(paused))))
    properties = {each["id"]: _schema(each) for each in paused.waiting}
    form = {"type": "object", "properties": properties, "required": list(properties)}
    payloads = [_payload(each) for each in paused.waiting]
    parts = [Data(as_json(part)) for part in [*payloads, {"response_schema": form}]]
    return InputRequired(prompt, parts, durable=True)


def answer(paused: Paused, parts: Sequence[Part]) -> Paused:
    """Return the run with the answers in a reply.

    Raises:
        InvalidInputError: The reply is empty, or names an interrupt that is not open.
    """
    open_ids = [each["id"] for each in paused.waiting]
    replies = _by_id(paused, parts) or {open_ids[0]: _whole(parts)}
    if unknown := replies.keys() - set(open_ids):
        raise InvalidInputError(f"The question {min(unknown)} is not open.")
    if any(reply in ("", None, {}) for reply in replies.values()):
        raise InvalidInputError("The reply is empty.")
    return paused.with_answers(cast("Mapping[str, JSON]", replies))


def responses(paused: Paused) -> list[dict[str, Any]]:
    """Return the answers as the prompt that resumes the run."""
    return [
        {"interruptResponse": {"interruptId": each["id"], "response": paused.answers[each["id"]]}}
        for each in paused.interrupts
    ]


def _prompt(paused: Paused) -> str:
    texts = [_text(each) for each in paused.waiting]
    if len(texts) == 1:
        return texts[0]
    rest = "the other" if len(texts) == 2 else "the others"
    lines = [f"{number}. {text}" for number, text in enumerate(texts, 1)]
    return "\n".join([*lines, "", _IN_TURN.format(rest)])


def _text(interrupt: Mapping[str, Any]) -> str:
    """Return an interrupt as text: its reason, or else its name."""
    reason = interrupt["reason"]
    if isinstance(reason, Mapping):
        reason = next((reason[key] for key in _TEXT_KEYS if isinstance(reason.get(key), str)), None)
    return reason if reason and isinstance(reason, str) else f"The agent asks: {interrupt['name']}"


def _schema(interrupt: Mapping[str, Any]) -> Mapping[str, Any]:
    reason = interrupt["reason"]
    own = reason.get("response_schema") if isinstance(reason, Mapping) else None
    return own if isinstance(own, Mapping) else {"title": _text(interrupt)}


def _payload(interrupt: Mapping[str, Any]) -> Mapping[str, Any]:
    return {
        "interrupt_id": interrupt["id"],
        "name": interrupt["name"],
        "reason": interrupt["reason"],
    }


def _by_id(paused: Paused, parts: Sequence[Part]) -> dict[str, object]:
    """Return the answers in data parts that name an interrupt of the run."""
    ids = {each["id"] for each in paused.interrupts}
    found: dict[str, object] = {}
    for value in (part.value for part in parts if isinstance(part, Data)):
        if isinstance(value, Mapping) and not ids.isdisjoint(value):
            found |= value
    return found


def _whole(parts: Sequence[Part]) -> object:
    """Return a reply as one value: its only data part, or its text."""
    values = [part.value for part in parts if isinstance(part, Data)]
    return values[0] if len(values) == len(parts) == 1 else as_text(parts).strip()
