"""Questions of a graph to its caller, and the replies to them.

Every pending interrupt is a data part of the question, whose text lists them. Text, or a data part
that names no interrupt, answers the first one, and the others are asked again. A data part that
maps interrupt ids to values answers all it names. A graph that stops before or after a node
(`interrupt_before`) goes on after a plain yes and ends after a no.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from langchain_core.messages import AIMessage
from langgraph.types import Command

from a2a_adapters import (
    ANOTHER_TASK_WAITS,
    QUESTION_CLOSED,
    AgentRequest,
    Data,
    InputRequired,
    Rejected,
    as_decision,
)
from a2a_adapters_langchain.serving.cutoff import POSITION

if TYPE_CHECKING:
    from langgraph.types import Interrupt, StateSnapshot


USAGE = "usage"
_IDS = "interrupts"
_TEXT_KEYS = ("question", "prompt", "message", "description")

DECLINED = Rejected("Stopped, because the step was not approved.")


async def first_input(
    value: object,
    request: AgentRequest,
    state: StateSnapshot,
    *,
    ask: Callable[[str], Awaitable[InputRequired]],
    rest: Callable[[], Awaitable[None]],
    has_breakpoints: bool = False,
) -> object:
    """Return a graph's input for a message, or the event that is the answer if there is none.

    Args:
        value: The input that a new task has.
        request: The message.
        state: Where the graph stands. It is not at rest if its process was killed, or if the task
            that asked is gone.
        ask: Asks again, with a hint at what was wrong with the reply.
        rest: Brings the graph to rest.
        has_breakpoints: Whether it may wait without a question.
    """
    if request.resuming:
        try:
            begin = resumption(state, request)
        except UnclearReplyError as unclear:
            return await ask(str(unclear))
        if begin is DECLINED:
            await rest()
        return begin
    is_waiting = bool(_open(state)) or (has_breakpoints and bool(state.next))
    if is_waiting and await request.others_wait():
        return ANOTHER_TASK_WAITS
    if state.tasks or state.next:
        await rest()
    return value


def question(
    state: StateSnapshot,
    usage: Mapping[str, Any] | None,
    hint: str = "",
    position: str = "",
) -> InputRequired:
    """Return what the graph asks.

    `usage` is counted on when the graph goes on; `hint` says what was wrong with a reply, and
    `position` where the graph has come to.
    """
    interrupts = _open(state)
    prompt = _prompts(interrupts) if interrupts else f"Go on with {', '.join(state.next)}?"
    parts = [Data(_payload(item)) for item in interrupts] or [Data(_stopped_at(state))]
    metadata: dict[str, Any] = {_IDS: [item.id for item in interrupts]}
    if usage:
        metadata[USAGE] = usage
    if position:
        metadata[POSITION] = position
    return InputRequired(
        f"{hint}\n\n{prompt}" if hint else prompt,
        parts,
        metadata=metadata,
        durable=True,
    )


def resumption(state: StateSnapshot, request: AgentRequest) -> Command[Any] | Rejected | None:
    """Return the graph's input that gives it the reply; None goes on after a breakpoint.

    Raises:
        UnclearReplyError: The reply does not answer the question.
    """
    asked = cast("Sequence[str]", request.resume_metadata.get(_IDS, ()))
    pending = {item.id: item for item in _open(state)}
    if not asked and not pending and state.next:
        return _after_breakpoint(request)
    open_ids = [item for item in asked if item in pending]
    if not open_ids:
        return QUESTION_CLOSED
    data = [part.value for part in request.parts if isinstance(part, Data)]
    if data and isinstance(data[0], Mapping) and data[0] and set(data[0]) <= pending.keys():
        answers = {item: _value(pending[item], [value], "") for item, value in data[0].items()}
    else:
        answers = {open_ids[0]: _value(pending[open_ids[0]], data, request.text)}
    return Command(resume=answers)


def _open(state: StateSnapshot) -> list[Interrupt]:
    """Return the interrupts without an answer; LangGraph 1.2.0 lists answered ones too."""
    tasks = (task for task in state.tasks if not task.result)
    return [item for task in tasks for item in task.interrupts]


def _after_breakpoint(request: AgentRequest) -> Rejected | None:
    if (decision := as_decision(request.text)) is None:
        raise UnclearReplyError("Please reply with yes or no.")
    return None if decision[0] else DECLINED


def _value(interrupt: Interrupt, data: Sequence[object], text: str) -> object:
    approval = is_approval(interrupt.value)
    if data:
        value = data[0] if len(data) == 1 else list(data)
        if approval and isinstance(value, str):
            return approval_of_text(interrupt.value, _schema(interrupt), value)
        return approval_of_data(interrupt.value, value) if approval else value
    if not text.strip():
        raise UnclearReplyError("Please reply with text or data.")
    return approval_of_text(interrupt.value, _schema(interrupt), text) if approval else text


def _prompts(interrupts: Sequence[Interrupt]) -> str:
    if (more := len(interrupts) - 1) == 0:
        return _prompt(interrupts[0])
    lines = [f"{number}. {_prompt(each)}" for number, each in enumerate(interrupts, 1)]
    remain = "1 more remains" if more == 1 else f"{more} more remain"
    return "\n".join([*lines, "", f"A text reply answers question 1; {remain}."])


def _prompt(interrupt: Interrupt) -> str:
    value = interrupt.value
    if is_approval(value):
        return approval_prompt(value, _schema(interrupt))
    if isinstance(value, Mapping):
        for key in _TEXT_KEYS:
            if isinstance(value.get(key), str):
                return str(value[key])
    return value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)


def _payload(interrupt: Interrupt) -> dict[str, object]:
    payload = {"interrupt_id": interrupt.id, "value": interrupt.value}
    schema = _schema(interrupt)
    return {**payload, "response_schema": schema} if schema else payload


def _schema(interrupt: Interrupt) -> Mapping[str, Any] | None:
    return getattr(interrupt, "response_schema", None)  # since LangGraph 1.2.x


def _stopped_at(state: StateSnapshot) -> dict[str, object]:
    messages = state.values.get("messages") if isinstance(state.values, Mapping) else None
    last = messages[-1] if messages else None
    calls = last.tool_calls if isinstance(last, AIMessage) else []
    shown = [{"name": call["name"], "args": call["args"]} for call in calls]
    return {"next": list(state.next), **({"tool_calls": shown} if shown else {})}


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


def _decision(text: str, *, only_answer: bool) -> Decision | None:
    if only_answer:
        return {"type": "respond", "message": text}
    if (decision := as_decision(text)) is None:
        return None
    is_yes, reason = decision
    kind: Decision = {"type": "approve" if is_yes else "reject"}
    return {**kind, "message": reason} if reason else kind


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
