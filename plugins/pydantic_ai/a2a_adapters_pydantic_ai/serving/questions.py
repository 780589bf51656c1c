"""Asks the caller about deferred tool calls, and reads the replies.

A call waits for an approval, for the answer to a question, or for a result from outside. The
question has a data part for each call, and one with the JSON schema of a reply: an object with the
answers by the ids of the calls. A text answers the first call, and the rest are asked again.

A tool that raises `ApprovalRequired` with an `answer_argument` in its metadata asks a question: it
runs again with the answer as that argument.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

from pydantic_ai import DeferredToolRequests, DeferredToolResults, ToolApproved, ToolDenied

from a2a_adapters import (
    JSON,
    Data,
    InputRequired,
    InvalidInputError,
    as_decision,
    as_json,
    as_text,
    tool_arguments,
)

if TYPE_CHECKING:
    from pydantic import JsonValue
    from pydantic_ai import ToolCallPart

    from a2a_adapters import Part
    from a2a_adapters_pydantic_ai.serving.memory import Paused

_CHOICES = "Please reply with approve, or with reject and an alternative."
_IN_TURN = "A text reply answers question 1; {} will be asked next."
_SAYS = "The user did not approve this call, and says: {}"
_ANSWER_ARGUMENT = "answer_argument"
_TEXT_KEYS = ("question", "prompt", "message", "description")


def question(paused: Paused, hint: str = "") -> InputRequired:
    """Return the question about the calls that still wait.

    Args:
        paused: The run.
        hint: The fault of the last reply, if any.
    """
    waiting = _waiting(paused)
    asked = [_Asked(paused.requests, call) for call in waiting]
    prompt = "\n\n".join(filter(None, (hint, _prompt(asked))))
    properties = {each.id: each.schema for each in asked}
    form = {"type": "object", "properties": properties, "required": list(properties)}
    parts = [*(each.payload for each in asked), {"response_schema": form}]
    return InputRequired(prompt, [Data(part) for part in parts], durable=True)


def is_answered(paused: Paused) -> bool:
    """Whether no call waits any more."""
    return not _waiting(paused)


def answer(paused: Paused, parts: Sequence[Part]) -> Paused:
    """Return the run with the answers in a reply.

    Raises:
        InvalidInputError: The reply is unclear. It answers nothing.
    """
    asked = {call.tool_call_id: _Asked(paused.requests, call) for call in _waiting(paused)}
    replies = _by_id(paused, parts) or {next(iter(asked)): _whole(parts)}
    if unknown := replies.keys() - asked.keys():
        raise InvalidInputError(f"No call {min(unknown)} waits.")
    given = {call_id: asked[call_id].answer(reply) for call_id, reply in replies.items()}
    return paused.model_copy(update={"answers": paused.answers | given})


def results(paused: Paused) -> DeferredToolResults:
    """Return the answers as the framework takes them."""
    requests, answers = paused.requests, paused.answers
    return requests.build_results(
        approvals={
            call.tool_call_id: _Asked(requests, call).decide(answers[call.tool_call_id])
            for call in requests.approvals
        },
        calls={call.tool_call_id: answers[call.tool_call_id] for call in requests.calls},
        metadata=requests.metadata,
    )


class _Asked:
    """A call that waits, as it is shown to the caller."""

    def __init__(self, requests: DeferredToolRequests, call: ToolCallPart) -> None:
        self.id = call.tool_call_id
        self._call = call
        self._arguments = tool_arguments(call.args)
        self._metadata = requests.metadata.get(call.tool_call_id, {})
        is_question = _ANSWER_ARGUMENT in self._metadata
        self.kind = "question" if is_question else requests.kind(call.tool_call_id)

    @property
    def prompt(self) -> str:
        """The question in words."""
        shown = f"{self._call.tool_name}({self._call.args_as_json_str()})"
        match self.kind:
            case "approval":
                return f"The agent wants to call {shown}."
            case "question":
                return self._text or f"The agent asks: {shown}"
            case _:
                return self._text or f"The agent needs the result of {shown}."

    @property
    def schema(self) -> Mapping[str, JSON]:
        """The JSON schema of the answer: that of the tool's metadata, or a simple one."""
        own = self._metadata.get("response_schema")
        if isinstance(own, Mapping):
            return cast("Mapping[str, JSON]", as_json(own))
        kind = "boolean" if self.kind == "approval" else "string"
        return {"type": kind, "title": self.prompt}

    @property
    def payload(self) -> Mapping[str, JSON]:
        """The call as data."""
        shown: dict[str, JSON] = {
            "call_id": self.id,
            "kind": self.kind,
            "tool": self._call.tool_name,
            "arguments": self._arguments,
        }
        return {**shown, "metadata": as_json(self._metadata)} if self._metadata else shown

    def answer(self, reply: object) -> JsonValue:
        """Return the answer in a reply.

        Raises:
            InvalidInputError: The reply is unclear.
        """
        if self.kind == "approval":
            return _decision(reply)
        if reply in ("", None):
            raise InvalidInputError("That answers nothing.")
        return cast("JsonValue", as_json(reply))

    def decide(self, answer: JsonValue) -> bool | ToolApproved | ToolDenied:
        """Return the answer about a tool that runs if it is approved."""
        if self.kind == "question":
            argument = self._metadata[_ANSWER_ARGUMENT]
            return ToolApproved(override_args={**self._call.args_as_dict(), argument: answer})
        return ToolDenied(_SAYS.format(answer)) if isinstance(answer, str) else bool(answer)

    @property
    def _text(self) -> str:
        """The question in the tool's metadata or arguments."""
        for given in (self._metadata, self._arguments):
            for key in _TEXT_KEYS:
                if isinstance(given, Mapping) and isinstance(given.get(key), str):
                    return str(given[key])
        return ""


def _calls(paused: Paused) -> list[ToolCallPart]:
    return [*paused.requests.approvals, *paused.requests.calls]


def _waiting(paused: Paused) -> list[ToolCallPart]:
    return [call for call in _calls(paused) if call.tool_call_id not in paused.answers]


def _by_id(paused: Paused, parts: Sequence[Part]) -> dict[str, object]:
    """Return the data parts that name a call of the question."""
    ids = {call.tool_call_id for call in _calls(paused)}
    found: dict[str, object] = {}
    for value in (part.value for part in parts if isinstance(part, Data)):
        if isinstance(value, Mapping) and not ids.isdisjoint(value):
            found |= value
    return found


def _prompt(asked: Sequence[_Asked]) -> str:
    choices = _CHOICES if asked[0].kind == "approval" else ""
    if len(asked) == 1:
        return "\n".join(filter(None, (asked[0].prompt, choices)))
    lines = [f"{number}. {each.prompt}" for number, each in enumerate(asked, 1)]
    rest = "the other" if len(asked) == 2 else "the others"
    return "\n".join([*lines, "", *filter(None, (choices, _IN_TURN.format(rest)))])


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
