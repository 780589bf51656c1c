"""Asks the caller what a run waits for, reads the replies, and stores the run meanwhile.

A run waits for confirmations of tool calls, for the input of workflows, and for the results of
long-running tools (https://adk.dev/tools-custom/confirmation/). The question has a data part for
each call, and one with the JSON schema of a reply: an object with the answers by the ids of the
calls. A text answers the first call, and the others are asked again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from google.adk.plugins.base_plugin import BasePlugin
from google.genai.types import Content, FunctionCall, FunctionResponse
from google.genai.types import Part as GenaiPart
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from jsonschema.exceptions import best_match  # type: ignore[import-untyped]

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
from a2a_adapters.plugin import as_json, as_text

if TYPE_CHECKING:
    from google.adk.models.llm_request import LlmRequest
    from google.adk.tools.base_tool import BaseTool
    from google.adk.tools.tool_context import ToolContext

    from a2a_adapters import Part
    from a2a_adapters.plugin import JSON

CONFIRMATION = "adk_request_confirmation"
INPUT = "adk_request_input"
CREDENTIAL = "adk_request_credential"
ASKING = {CONFIRMATION, INPUT, CREDENTIAL}
"""The names of calls with which the framework itself asks."""
_GENERATED_HINT = "Please approve or reject the tool call"
_OF_NODE = "wf_tool_confirmation:"
"""The prefix of the ids of inputs by which nodes of workflows ask for a confirmation."""


@dataclass(frozen=True, slots=True)
class Paused:
    """A run that waits for its caller.

    Attributes:
        task_id: The task that waits.
        session: The session at the current point of the run, as in `AnyTurn`.
        calls: The calls that wait, with `id`, `name` and `args`.
        answers: The answers so far, by the id of the call.
    """

    task_id: str
    session: str
    calls: Sequence[Mapping[str, Any]]
    answers: Mapping[str, Any] = field(default_factory=dict)

    @property
    def waiting(self) -> list[Mapping[str, Any]]:
        """The calls without an answer."""
        return [each for each in self.calls if each["id"] not in self.answers]

    def with_answers(self, answers: Mapping[str, Any]) -> Paused:
        """Return a copy with further answers."""
        return replace(self, answers={**self.answers, **answers})


def as_call(call: FunctionCall, member: str) -> Mapping[str, Any]:
    """Return a call of the framework as it is stored.

    Args:
        call: The call.
        member: The member of a parallel agent that waits for it; empty if there is none.
    """
    return {"id": call.id, "name": call.name, "args": as_json(call.args or {}), "member": member}


def tool_names(paused: Paused) -> dict[str, str]:
    """Return the names of the tools whose calls continue with the run, by call id."""
    calls = (_confirmed(each) for each in paused.calls if each["name"] == CONFIRMATION)
    return {each["id"]: each["name"] for each in calls}


def question(paused: Paused, hint: str = "") -> InputRequired:
    """Return the question about the calls without an answer.

    Args:
        paused: The run.
        hint: The fault of the last reply, if any.
    """
    waiting = paused.waiting
    has_choice = any(map(_is_confirmation, waiting))
    choices = APPROVAL_CHOICES if has_choice else ""
    prompt = numbered([_text(each) for each in waiting], hint, choices)
    properties = {each["id"]: {"title": _text(each), **_schema(each)} for each in waiting}
    form = {"type": "object", "properties": properties, "required": list(properties)}
    parts = [*map(_payload, waiting), {"response_schema": form}]
    return InputRequired(prompt, [Data(as_json(part)) for part in parts], durable=True)


def answered(paused: Paused, parts: Sequence[Part]) -> Paused:
    """Return the run with the answers in a reply.

    Raises:
        InvalidInputError: The reply is unclear, or does not fit. It answers nothing.
    """
    ids = [each["id"] for each in paused.calls]
    given = replies(parts, ids, [each["id"] for each in paused.waiting])
    calls = {call["id"]: call for call in paused.calls}
    return paused.with_answers({each: _answer(calls[each], said) for each, said in given.items()})


def responses(paused: Paused) -> list[Content]:
    """Return the answers as the messages that resume the run, one after the other."""
    # A message resumes only one member of a parallel agent, and the framework ignores the result of
    # a tool beside the answer to a question of its own.
    groups: dict[tuple[bool, str], list[GenaiPart]] = {}
    for call in paused.calls:
        group = call["name"] not in ASKING, call.get("member", "")
        groups.setdefault(group, []).append(_response(call, paused.answers[call["id"]]))
    return [Content(role="user", parts=parts) for _, parts in sorted(groups.items())]


def refusals(paused: Paused) -> list[BasePlugin]:
    """Return the plugin that gives the model the caller's reasons for refused calls, if any."""
    given = (
        (_confirmed(each)["id"], paused.answers[each["id"]].get("reason"))
        for each in paused.calls
        if each["name"] == CONFIRMATION
    )
    said = {call_id: refused_call(reason) for call_id, reason in given if reason}
    return [_Refusals(said)] if said else []


class _Refusals(BasePlugin):
    """Replaces the results of refused calls, in which the framework gives no reason."""

    def __init__(self, said: Mapping[str, str]) -> None:
        super().__init__(name="a2a_refusals")
        self._said = said

    async def after_tool_callback(
        self, *, tool_context: ToolContext, **_: Any
    ) -> dict[str, Any] | None:
        said = self._said.get(tool_context.function_call_id or "")
        return {"error": said} if said else None


class LongCalls(BasePlugin):
    """Records the arguments with which long-running tools are called.

    A callback before the tool may change the arguments of the model, or answer in its place.
    """

    def __init__(self) -> None:
        super().__init__(name="a2a_long_calls")
        self._given: dict[str, JSON] = {}

    async def before_model_callback(self, *, llm_request: LlmRequest, **_: Any) -> None:
        """Replace the long-running tools of a request by copies that note their calls."""
        tools = llm_request.tools_dict
        tools.update(
            {name: self._noting(each) for name, each in tools.items() if each.is_long_running}
        )

    def __contains__(self, call_id: str | None) -> bool:
        """Whether the tool of a call was called."""
        return call_id in self._given

    def as_called(self, call: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a call with the arguments that its tool was given."""
        return {**call, "args": self._given.get(call["id"], call["args"])}

    def _noting(self, tool: BaseTool) -> BaseTool:
        async def run_async(*, args: dict[str, Any], tool_context: ToolContext) -> Any:
            self._given[tool_context.function_call_id or ""] = as_json(args)
            return await tool.run_async(args=args, tool_context=tool_context)

        noting = copy(tool)
        noting.run_async = run_async  # type: ignore[method-assign]
        return noting


def _answer(call: Mapping[str, Any], reply: object) -> object:
    """Return a reply as the answer to a call.

    Raises:
        InvalidInputError: The reply is empty, or does not fit the schema of the call.
    """
    if _is_confirmation(call):
        return _decision(call, reply)
    if reply in ("", None):
        raise InvalidInputError("The reply is empty.")
    if error := best_match(Draft202012Validator(_schema(call)).iter_errors(reply)):
        raise InvalidInputError(f"The reply does not fit: {error.message}.")
    return reply


def _decision(call: Mapping[str, Any], reply: object) -> dict[str, JSON]:
    """Return a `ToolConfirmation`, and the words of a refusal.

    Words are the payload if the tool asks for a text.

    Raises:
        InvalidInputError: The reply is empty.
    """
    if isinstance(reply, Mapping) and isinstance(reply.get("confirmed"), bool):
        return {"confirmed": reply["confirmed"], "payload": as_json(reply.get("payload"))}
    decision = approval(reply)
    if isinstance(decision, str) and isinstance(_wanted(call), str):
        return {"confirmed": True, "payload": decision}
    if isinstance(decision, str):
        return {"confirmed": False, "reason": decision}
    return {"confirmed": decision}


def _response(call: Mapping[str, Any], answer: object) -> GenaiPart:
    # As the framework wraps the results of tools that are not dicts.
    response = dict(answer) if isinstance(answer, Mapping) else {"result": answer}
    if _is_confirmation(call):
        response.pop("reason", None)
    return GenaiPart(
        function_response=FunctionResponse(id=call["id"], name=call["name"], response=response)
    )


def _text(call: Mapping[str, Any]) -> str:
    if _is_confirmation(call):
        return _confirmation_text(call)
    if call["name"] == INPUT:
        return call["args"].get("message") or "The agent needs your input."
    return f"What is the result of {_shown(call)}?"


def _confirmation_text(call: Mapping[str, Any]) -> str:
    text = f"The agent wants to call {_shown(_confirmed(call))}."
    hint = call["args"].get("message") or call["args"].get("toolConfirmation", {}).get("hint") or ""
    return f"{text}\n{hint}" if hint and not hint.startswith(_GENERATED_HINT) else text


def _shown(call: Mapping[str, Any]) -> str:
    arguments = as_text([Data(call["args"])]) if call.get("args") else ""
    return f"{call['name']}({arguments})"


def _schema(call: Mapping[str, Any]) -> Mapping[str, Any]:
    if not _is_confirmation(call):
        schema = call["args"].get("response_schema") if call["name"] == INPUT else None
        return schema or {}
    payload = _wanted(call)
    if payload is None:
        return {"type": "boolean"}
    properties = {"confirmed": {"type": "boolean"}, "payload": {"default": payload}}
    return {"type": "object", "properties": properties, "required": ["confirmed"]}


def _wanted(call: Mapping[str, Any]) -> JSON:
    """Return the example of the payload that a confirmation asks for; None if it asks for none."""
    args = call["args"]
    wanted: JSON = (
        args["payload"].get("confirmation_payload")
        if call["name"] == INPUT
        else args.get("toolConfirmation", {}).get("payload")
    )
    return wanted


def _payload(call: Mapping[str, Any]) -> Mapping[str, Any]:
    is_confirmation = _is_confirmation(call)
    if call["name"] == INPUT and not is_confirmation:
        return {"call_id": call["id"], "payload": call["args"].get("payload")}
    about = _confirmed(call) if is_confirmation else call
    return {"call_id": call["id"], "tool": about["name"], "arguments": about.get("args") or {}}


def _is_confirmation(call: Mapping[str, Any]) -> bool:
    return call["name"] == CONFIRMATION or str(call["id"]).startswith(_OF_NODE)


def _confirmed(call: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the call that a confirmation is about; that of a node is the node's."""
    if call["name"] == INPUT:
        about = call["args"]["payload"]
        return {"id": call["id"], "name": about["tool_name"], "args": about["args"]}
    original: Mapping[str, Any] = call["args"]["originalFunctionCall"]
    return original


AnyTurn: TypeAlias = "StoredTurn[str, Paused]"
"""A turn; the state is the session as JSON, empty for a runner, which has sessions of its own."""
KIND: TurnKind[str, Paused] = TurnKind.of_json("google-adk", Paused, question, answered)
"""How conversations of the framework are stored and asked about."""
