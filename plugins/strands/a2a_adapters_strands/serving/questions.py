"""Asks the caller about a run's interrupts, reads the replies, and stores the run meanwhile.

The question has a data part for each interrupt, and one with the JSON schema of a reply: an object
with the answers by the ids of the interrupts. Any other reply answers the first interrupt, and the
others are asked again. A `reason` with a `response_schema` describes its answer.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from a2a_adapters import Data, InputRequired, InvalidInputError
from a2a_adapters.conversing import Remembered, StoredTurn, TurnKind, numbered, replies
from a2a_adapters.plugin import JSON, as_json

if TYPE_CHECKING:
    from a2a_adapters import Part

_BYTES, _ESCAPED = "__bytes__", "__escaped__"
_TEXT_KEYS = ("question", "prompt", "message", "description")


@dataclass(frozen=True, slots=True)
class Paused:
    """A run that waits for its caller.

    Attributes:
        task_id: The task that waits.
        snapshot: The agent's state at the current point of the run.
        interrupts: The interrupts: `id`, `name` and `reason`.
        answers: The answers so far, by the id of the interrupt.
    """

    task_id: str
    snapshot: Mapping[str, Any]
    interrupts: Sequence[Mapping[str, Any]]
    answers: Mapping[str, JSON] = field(default_factory=dict)

    @property
    def waiting(self) -> list[Mapping[str, Any]]:
        """The interrupts without an answer."""
        return [each for each in self.interrupts if each["id"] not in self.answers]

    @property
    def tools(self) -> dict[str, str]:
        """The names of the tools that were called last, by the id of the call."""
        content = self.snapshot["data"]["messages"][-1]["content"]
        calls = [block["toolUse"] for block in content if "toolUse" in block]
        return {call["toolUseId"]: call["name"] for call in calls}

    def with_answers(self, answers: Mapping[str, JSON]) -> Paused:
        """Return a copy with further answers."""
        return replace(self, answers={**self.answers, **answers})


def question(paused: Paused, hint: str = "") -> InputRequired:
    """Return the question about the interrupts without an answer.

    Args:
        paused: The run.
        hint: The fault of the last reply, if any.
    """
    prompt = numbered([_text(each) for each in paused.waiting], hint)
    properties = {each["id"]: _schema(each) for each in paused.waiting}
    form = {"type": "object", "properties": properties, "required": list(properties)}
    payloads = [_payload(each) for each in paused.waiting]
    parts = [Data(as_json(part)) for part in [*payloads, {"response_schema": form}]]
    return InputRequired(prompt, parts, durable=True)


def answered(paused: Paused, parts: Sequence[Part]) -> Paused:
    """Return the run with the answers in a reply.

    Raises:
        InvalidInputError: The reply is empty, or names an interrupt that is not open.
    """
    ids = [each["id"] for each in paused.interrupts]
    given = replies(parts, ids, [each["id"] for each in paused.waiting])
    if any(reply in ("", None, {}) for reply in given.values()):
        raise InvalidInputError("The reply is empty.")
    return paused.with_answers(cast("Mapping[str, JSON]", given))


def responses(paused: Paused) -> list[dict[str, Any]]:
    """Return the answers as the prompt that resumes the run."""
    return [
        {"interruptResponse": {"interruptId": each["id"], "response": paused.answers[each["id"]]}}
        for each in paused.interrupts
    ]


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


_Known: TypeAlias = "Remembered[Mapping[str, Any], Paused]"
AnyTurn: TypeAlias = "StoredTurn[Mapping[str, Any], Paused]"
"""A turn; the state is the agent's snapshot."""


def _encoded(known: _Known) -> bytes:
    return json.dumps(_as_json(asdict(known))).encode()


def _decoded(body: bytes) -> _Known:
    stored = _of_json(json.loads(body))
    paused = stored["paused"]
    return Remembered(stored["state"], Paused(**paused) if paused else None)


def _as_json(value: Any) -> Any:
    """Encode bytes, and keep values of callers that look like encoded ones apart.

    The framework's `encode_bytes_values` does not do the latter: a caller could turn its values
    into bytes, or make the conversation unreadable.
    """
    match value:
        case bytes():
            return {_BYTES: base64.b64encode(value).decode()}
        case dict():
            encoded = {key: _as_json(inner) for key, inner in value.items()}
            return {_ESCAPED: encoded} if value.keys() & {_BYTES, _ESCAPED} else encoded
        case list():
            return [_as_json(inner) for inner in value]
    return value


def _of_json(value: Any) -> Any:
    """Return the inverse of `_as_json`."""
    match value:
        case {"__bytes__": str(data)}:
            return base64.b64decode(data)
        case {"__escaped__": dict(encoded)}:
            return {key: _of_json(inner) for key, inner in encoded.items()}
        case dict():
            return {key: _of_json(inner) for key, inner in value.items()}
        case list():
            return [_of_json(inner) for inner in value]
    return value


KIND = TurnKind("strands", _encoded, _decoded, question, answered)
"""How conversations of agents are stored and asked about."""
TEAM_KIND = TurnKind("strands-team", _encoded, _decoded, question, answered)
"""The kind of turns of graphs and swarms; a snapshot is the state of the team."""
