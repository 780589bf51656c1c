"""Asks the caller to approve tool calls, reads the replies, and stores the run meanwhile.

The question has a data part for each call, and one with the JSON schema of a reply: an object with
the decisions by the ids of the calls. A text decides about the first call, and the others are asked
again. Any text other than a plain yes or no is the call's result for the model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from agent_framework import Content, Message

from a2a_adapters import Data, InputRequired, InvalidInputError
from a2a_adapters.conversing import (
    APPROVAL_CHOICES,
    StoredTurn,
    TurnKind,
    approval,
    numbered,
    refused_call,
    replies,
)
from a2a_adapters.plugin import as_json, as_text, tool_arguments

if TYPE_CHECKING:
    from a2a_adapters import Part
    from a2a_adapters.plugin import JSON


@dataclass(frozen=True, slots=True)
class Paused:
    """A run that waits for its caller.

    Attributes:
        task_id: The task that waits.
        session: The session at the current point of the run.
        requests: The requests for approval, as JSON.
        answers: The answers so far, by the id of the request: true, false, or the reason why not.
        asked: The question of the remote agent that is the model, in place of requests.
    """

    task_id: str
    session: Mapping[str, Any]
    requests: Sequence[Mapping[str, Any]]
    answers: Mapping[str, bool | str] = field(default_factory=dict)
    asked: str = ""

    @property
    def waiting(self) -> list[Mapping[str, Any]] | list[str]:
        """The requests without an answer, or the question of a remote agent."""
        if self.asked:
            return [] if self.answers else [self.asked]
        return self.open_requests

    @property
    def open_requests(self) -> list[Mapping[str, Any]]:
        """The requests without an answer."""
        return [each for each in self.requests if each["id"] not in self.answers]

    def with_answers(self, answers: Mapping[str, bool | str]) -> Paused:
        """Return a copy with further answers."""
        return replace(self, answers={**self.answers, **answers})


def question(paused: Paused, hint: str = "") -> InputRequired:
    """Return the question about the calls without a decision.

    Args:
        paused: The run.
        hint: The fault of the last reply, if any.
    """
    if paused.asked:
        return InputRequired(numbered([paused.asked], hint), durable=True)
    waiting = paused.open_requests
    prompt = numbered([approval_text(each) for each in waiting], hint, APPROVAL_CHOICES)
    properties = {each["id"]: {"type": "boolean", "title": approval_text(each)} for each in waiting}
    form = {"type": "object", "properties": properties, "required": list(properties)}
    parts = [*map(approval_payload, waiting), {"response_schema": form}]
    return InputRequired(prompt, [Data(as_json(part)) for part in parts], durable=True)


def answered(paused: Paused, parts: Sequence[Part]) -> Paused:
    """Return the run with the decisions in a reply.

    Raises:
        InvalidInputError: The reply is unclear. It decides nothing.
    """
    if paused.asked:
        if not as_text(parts).strip():
            raise InvalidInputError("That answers nothing.")
        return paused.with_answers({"": True})
    ids = [each["id"] for each in paused.requests]
    given = replies(parts, ids, [each["id"] for each in paused.open_requests])
    return paused.with_answers({each: approval(reply) for each, reply in given.items()})


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
    return {call_id: refused_call(said) for call_id, said in given if isinstance(said, str)}


def approval_text(request: Mapping[str, Any]) -> str:
    """Return the words that ask for an approval; the request is JSON of the framework."""
    call = _call(request)
    arguments = _arguments(call)
    shown = as_text([Data(arguments)]) if arguments else ""
    return f"The agent wants to call {call['name']}({shown})."


def approval_payload(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the call of a request for approval, as the caller gets it."""
    call = _call(request)
    return {"call_id": request["id"], "tool": call["name"], "arguments": _arguments(call)}


def _call(request: Mapping[str, Any]) -> Mapping[str, Any]:
    call: Mapping[str, Any] = request["function_call"]
    return call


def _arguments(call: Mapping[str, Any]) -> JSON:
    return tool_arguments(call.get("arguments") or {})  # JSON of the framework omits None


AnyTurn: TypeAlias = "StoredTurn[Mapping[str, Any], Paused]"
"""A turn; the state is the session as JSON."""
KIND: TurnKind[Mapping[str, Any], Paused] = TurnKind.of_json(
    "agent-framework", Paused, question, answered
)
"""How conversations of the framework are stored and asked about."""
