"""Questions of a graph to its caller, and the replies to them.

Every pending interrupt is a data part of the question, whose text lists them. Text, or a data part
that names no interrupt, answers the first one, and the others are asked again. A data part that
maps interrupt ids to values answers all it names. A graph that stops before or after a node
(`interrupt_before`) goes on after a plain yes and ends after a no.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from langchain_core.messages import AIMessage
from langgraph.types import Command

from a2a_adapters import (
    QUESTION_CLOSED,
    AgentRequest,
    Data,
    InputRequired,
    Rejected,
)
from a2a_adapters_langchain.serving.approval import (
    UnclearReplyError,
    agrees,
    approval_of_data,
    approval_of_text,
    approval_prompt,
    is_approval,
)
from a2a_adapters_langchain.serving.cutoff import POSITION

if TYPE_CHECKING:
    from langgraph.types import Interrupt, StateSnapshot

USAGE = "usage"
_IDS = "interrupts"
_TEXT_KEYS = ("question", "prompt", "message", "description")

DECLINED = Rejected("Stopped, because the step was not approved.")


def waits(state: StateSnapshot, *, has_breakpoints: bool) -> bool:
    """Whether a graph waits for its caller, rather than having been cut off."""
    return bool(_open(state)) or (has_breakpoints and bool(state.next))


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
    answer = agrees(request.text)
    if answer is None:
        raise UnclearReplyError("Please reply with yes or no.")
    return None if answer else DECLINED


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
