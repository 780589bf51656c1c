"""Asks the caller about deferred tool calls, reads the replies, and stores the run meanwhile.

A call waits for an approval, for the answer to a question, or for a result from outside. The
question has a data part for each call, and one with the JSON schema of a reply: an object with the
answers by the ids of the calls. A text answers the first call, and the rest are asked again.

A tool that raises `ApprovalRequired` with an `answer_argument` in its metadata asks a question: it
runs again with the answer as that argument.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias, cast

from pydantic import BaseModel, ConfigDict, Field, JsonValue
from pydantic_ai import (
    DeferredToolRequests,
    DeferredToolResults,
    ModelMessage,
    RunUsage,
    ToolApproved,
    ToolCallPart,
    ToolDenied,
)

from a2a_adapters import AuthRequired, Data, InputRequired, InvalidInputError
from a2a_adapters.conversing import (
    APPROVAL_CHOICES,
    Remembered,
    StoredTurn,
    TurnKind,
    approval,
    numbered,
    refused_call,
    replies,
)
from a2a_adapters.plugin import JSON, as_json, as_text, tool_arguments

if TYPE_CHECKING:
    from a2a_adapters import Part

_ANSWER_ARGUMENT = "answer_argument"
_TEXT_KEYS = ("question", "prompt", "message", "description")


class Paused(BaseModel):
    """A run that waits for its caller.

    Attributes:
        task_id: The task that waits.
        messages: The conversation, up to the current point of the run.
        requests: The calls that wait.
        answers: The answers so far, by the id of the call: for an approval true, false, or the
            reason why not; for any other call its result.
        usage: The usage of the run so far.
        asked: The question of the remote agent that is the model, in place of calls.
        needs_auth: Whether that agent needs an authorisation.
    """

    task_id: str
    messages: list[ModelMessage]
    requests: DeferredToolRequests
    answers: dict[str, JsonValue] = Field(default_factory=dict)
    usage: RunUsage
    asked: str = ""
    needs_auth: bool = False

    @property
    def calls(self) -> list[ToolCallPart]:
        """All calls that waited."""
        return [*self.requests.approvals, *self.requests.calls]

    @property
    def waiting(self) -> list[ToolCallPart] | list[str]:
        """The calls without an answer, or the question of a remote agent."""
        if self.asked:
            return [] if self.answers else [self.asked]
        return self.open_calls

    @property
    def open_calls(self) -> list[ToolCallPart]:
        """The calls without an answer."""
        return [call for call in self.calls if call.tool_call_id not in self.answers]


def question(paused: Paused, hint: str = "") -> InputRequired:
    """Return the question about the calls that still wait.

    Args:
        paused: The run.
        hint: The fault of the last reply, if any.
    """
    if paused.asked:
        kind = AuthRequired if paused.needs_auth else InputRequired
        return kind(numbered([paused.asked], hint), durable=True)
    asked = [_Asked(paused.requests, call) for call in paused.open_calls]
    choices = APPROVAL_CHOICES if asked[0].kind == "approval" else ""
    prompt = numbered([each.prompt for each in asked], hint, choices)
    properties = {each.id: each.schema for each in asked}
    form = {"type": "object", "properties": properties, "required": list(properties)}
    parts = [*(each.payload for each in asked), {"response_schema": form}]
    return InputRequired(prompt, [Data(part) for part in parts], durable=True)


def answered(paused: Paused, parts: Sequence[Part]) -> Paused:
    """Return the run with the answers in a reply.

    Raises:
        InvalidInputError: The reply is unclear, or empty. It answers nothing.
    """
    if paused.asked:
        if not as_text(parts).strip():
            raise InvalidInputError("That answers nothing.")
        return paused.model_copy(update={"answers": {"": True}})
    asked = {call.tool_call_id: _Asked(paused.requests, call) for call in paused.open_calls}
    given = replies(parts, [call.tool_call_id for call in paused.calls], list(asked))
    answers = {call_id: asked[call_id].answer(reply) for call_id, reply in given.items()}
    return paused.model_copy(update={"answers": paused.answers | answers})


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
            return approval(reply)
        if reply in ("", None):
            raise InvalidInputError("That answers nothing.")
        return cast("JsonValue", as_json(reply))

    def decide(self, answer: JsonValue) -> bool | ToolApproved | ToolDenied:
        """Return the answer about a tool that runs if it is approved."""
        if self.kind == "question":
            argument = self._metadata[_ANSWER_ARGUMENT]
            return ToolApproved(override_args={**self._call.args_as_dict(), argument: answer})
        return ToolDenied(refused_call(answer)) if isinstance(answer, str) else bool(answer)

    @property
    def _text(self) -> str:
        """The question in the tool's metadata or arguments."""
        for given in (self._metadata, self._arguments):
            for key in _TEXT_KEYS:
                if isinstance(given, Mapping) and isinstance(given.get(key), str):
                    return str(given[key])
        return ""


class _Stored(BaseModel):
    """The stored data of a conversation, as JSON."""

    model_config = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")

    messages: list[ModelMessage] = Field(default_factory=list)
    paused: Paused | None = None


_Known: TypeAlias = "Remembered[list[ModelMessage], Paused]"
AnyTurn: TypeAlias = "StoredTurn[list[ModelMessage], Paused]"
"""A turn; the state is the messages of completed runs."""


def _encoded(known: _Known) -> bytes:
    stored = _Stored.model_construct(messages=known.state or [], paused=known.paused)
    return stored.model_dump_json().encode()


def _decoded(body: bytes) -> _Known:
    stored = _Stored.model_validate_json(body)
    return Remembered(stored.messages, stored.paused)


KIND = TurnKind("pydantic-ai", _encoded, _decoded, question, answered)
"""How conversations of the framework are stored and asked about."""
