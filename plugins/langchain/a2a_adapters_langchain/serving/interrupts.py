"""Asks the questions of a graph and reads the replies.

A question has a data part for each pending interrupt, and a text that lists them. A text reply, or
a data part without interrupt ids, answers the first interrupt, and the others are asked again. A
data part that maps interrupt ids to values answers all of these. A graph that stops before or
after a node (`interrupt_before`) continues after a plain yes and ends after a no.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from langchain_core.messages import AIMessage
from langgraph.types import Command

from a2a_adapters import AgentRequest, Data, InputRequired, InvalidInputError, Rejected
from a2a_adapters.plugin import ANOTHER_TASK_WAITS, JSON, QUESTION_CLOSED, as_decision
from a2a_adapters_langchain.serving.transcript import TaskSoFar

if TYPE_CHECKING:
    from langgraph.types import Interrupt, StateSnapshot

    from a2a_adapters_langchain.serving.thread import AnyThread


_USAGE = "usage"
"""Key in a question's metadata: the token usage of the task so far."""

_POSITION = "position"
"""Key in a question's metadata: the position of the graph when it asked."""

_IDS = "interrupts"
_TEXT_KEYS = ("question", "prompt", "message", "description")
_OPTION_KEYS = ("options", "choices")

DECLINED = Rejected("Stopped, because the step was not approved.")


async def first_input(
    value: object, request: AgentRequest, thread: AnyThread, state: StateSnapshot
) -> object:
    """Return a graph's input for a message, or the event that answers without a run.

    Args:
        value: The input for a new task.
        request: The message.
        thread: The thread.
        state: Its state. It has pending steps if its process died, or if the task that asked no
            longer exists.
    """
    if request.resuming:
        try:
            begin = _resumption(state, request)
        except InvalidInputError as unclear:
            hint, position = str(unclear), await thread.position()
            metadata = TaskSoFar.of(request).as_metadata()
            return question(state, usage_so_far(request), hint, position, metadata)
        if begin is DECLINED:
            await thread.repair()
        return begin
    is_waiting = bool(_open(state)) or (bool(state.next) and thread.has_breakpoints)
    if is_waiting and await request.others_wait():
        return ANOTHER_TASK_WAITS
    if state.tasks or state.next:
        await thread.repair()
    return value


def usage_so_far(request: AgentRequest) -> Mapping[str, JSON] | None:
    """Return the usage of the task's earlier runs."""
    usage = request.resume_metadata.get(_USAGE)
    return usage if isinstance(usage, Mapping) else None


def asked_at(request: AgentRequest) -> str:
    """Return the graph's position at the question that a message answers, or ""."""
    return str(request.resume_metadata.get(_POSITION, ""))


def question(
    state: StateSnapshot,
    usage: Mapping[str, Any] | None,
    hint: str = "",
    position: str = "",
    metadata: Mapping[str, JSON] | None = None,
) -> InputRequired:
    """Return the question of a graph.

    Args:
        state: The state of the graph.
        usage: The token usage so far; the resumed run adds to it.
        hint: The problem of the last reply.
        position: The position of the graph.
        metadata: More entries of its metadata.
    """
    interrupts = _open(state)
    prompt = _prompts(interrupts) if interrupts else f"Go on with {', '.join(state.next)}?"
    parts = [Data(_payload(item)) for item in interrupts] or [Data(_breakpoint(state))]
    kept: dict[str, Any] = {_IDS: [item.id for item in interrupts], **(metadata or {})}
    if usage:
        kept[_USAGE] = usage
    if position:
        kept[_POSITION] = position
    text = f"{hint}\n\n{prompt}" if hint else prompt
    return InputRequired(text, parts, metadata=kept, durable=True)


def _resumption(state: StateSnapshot, request: AgentRequest) -> Command[Any] | Rejected | None:
    """Return the graph's input for a reply; None continues after a breakpoint.

    Raises:
        InvalidInputError: The reply does not answer the question; the text says what would.
    """
    asked = cast("Sequence[str]", request.resume_metadata.get(_IDS, ()))
    pending = {item.id: item for item in _open(state)}
    if not asked and not pending and state.next:
        if (decision := as_decision(request.text)) is None:
            raise InvalidInputError("Please reply with yes or no.")
        return None if decision[0] else DECLINED
    open_ids = [item for item in asked if item in pending]
    if not open_ids:
        return QUESTION_CLOSED
    data = [part.value for part in request.parts if isinstance(part, Data)]
    if data and isinstance(data[0], Mapping) and data[0] and set(data[0]) <= pending.keys():
        replies = {item: _reply(pending[item], [value], "") for item, value in data[0].items()}
    else:
        replies = {open_ids[0]: _reply(pending[open_ids[0]], data, request.text)}
    return Command(resume=replies)


def _open(state: StateSnapshot) -> list[Interrupt]:
    """Return the interrupts without a reply; LangGraph also lists resolved ones."""
    tasks = (task for task in state.tasks if not task.result)
    return [item for task in tasks for item in task.interrupts]


def _reply(interrupt: Interrupt, data: Sequence[object], text: str) -> object:
    """Return the value that an interrupt is resumed with."""
    if not data and not text.strip():
        raise InvalidInputError("Please reply with text or data.")
    value = data[0] if len(data) == 1 else list(data) or text
    if not _is_approval(interrupt.value):
        return value
    return _decide(interrupt, value) if isinstance(value, str) else _decisions(interrupt, value)


def _prompts(interrupts: Sequence[Interrupt]) -> str:
    if (more := len(interrupts) - 1) == 0:
        return _prompt(interrupts[0])
    lines = [f"{number}. {_prompt(each)}" for number, each in enumerate(interrupts, 1)]
    remain = "1 more remains" if more == 1 else f"{more} more remain"
    return "\n".join([*lines, "", f"A text reply answers question 1; {remain}."])


def _prompt(interrupt: Interrupt) -> str:
    value = interrupt.value
    if _is_approval(value):
        actions = value.get("action_requests", [value])
        lines = [str(action.get("description") or action["name"]) for action in actions]
        return "\n\n".join([*lines, f"Please reply with: {_choices(interrupt)}."])
    if isinstance(value, Mapping):
        for key in _TEXT_KEYS:
            if isinstance(value.get(key), str):
                return str(value[key])
    return value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)


def _payload(interrupt: Interrupt) -> dict[str, object]:
    payload = {"interrupt_id": interrupt.id, "value": interrupt.value}
    schema = interrupt.response_schema or _options_schema(interrupt.value)
    return {**payload, "response_schema": schema} if schema else payload


def _options_schema(value: object) -> dict[str, object] | None:
    """Return the JSON schema of an answer that is one of the options in an interrupt's value.

    Options are values, or objects with a `value` (or `id`) and a `label` (or `title`).
    """
    if not isinstance(value, Mapping):
        return None
    options = next((value[key] for key in _OPTION_KEYS if key in value), None)
    if not isinstance(options, list) or not options:
        return None
    if all(isinstance(option, str | int | float) for option in options):
        return {"enum": options}
    choices = [_choice(option) for option in options]
    return {"oneOf": choices} if all(choices) else None


def _choice(option: object) -> dict[str, object] | None:
    if not isinstance(option, Mapping):
        return None
    value = next((option[key] for key in ("value", "id") if key in option), None)
    title = next((option[key] for key in ("label", "title", "name") if key in option), value)
    return None if value is None else {"const": value, "title": str(title)}


def _breakpoint(state: StateSnapshot) -> dict[str, object]:
    """Return the nodes that a graph stopped before, and the tool calls that they will run."""
    messages = state.values.get("messages") if isinstance(state.values, Mapping) else None
    last = messages[-1] if messages else None
    calls = last.tool_calls if isinstance(last, AIMessage) else []
    shown = [{"name": call["name"], "args": call["args"]} for call in calls]
    return {"next": list(state.next), **({"tool_calls": shown} if shown else {})}


# The approval of tool calls: by LangChain's middleware, or of a single tool.


def _is_approval(value: object) -> bool:
    return isinstance(value, Mapping) and (
        {"action_requests", "review_configs"} <= value.keys()
        or value.get("type") == "tool_approval"
    )


def _decide(interrupt: Interrupt, text: str) -> object:
    """Convert "approve", "no, because ..." and the like to a decision on all listed actions."""
    allowed, answer = _allowed(interrupt), as_decision(text)
    decision: dict[str, object] = {}
    if allowed == {"respond"}:
        decision = {"type": "respond", "message": text}
    elif answer:
        is_yes, reason = answer
        decision = {"type": "approve" if is_yes else "reject"}
        decision |= {"message": reason} if reason else {}
    if decision.get("type") not in allowed:
        raise InvalidInputError("That is none of the decisions that can be made.")
    if "action_requests" in interrupt.value:
        return {"decisions": [decision] * len(interrupt.value["action_requests"])}
    return decision


def _decisions(interrupt: Interrupt, data: object) -> object:
    """Return the decisions in a data part: one for each action."""
    value = interrupt.value
    if "action_requests" not in value:
        return data
    count = len(value["action_requests"])
    decisions = data.get("decisions", [data]) if isinstance(data, Mapping) else data
    if not isinstance(decisions, list) or len(decisions) != count:
        raise InvalidInputError(f"Please send {count} decisions, one for each action.")
    for decision, config in zip(decisions, value["review_configs"], strict=False):
        types = set(config["allowed_decisions"])
        if not isinstance(decision, Mapping) or decision.get("type") not in types:
            raise InvalidInputError(f"Please send decisions of type: {', '.join(sorted(types))}.")
    return {"decisions": decisions}


def _allowed(interrupt: Interrupt) -> set[str]:
    """Return the types of decision that all actions allow."""
    if configs := interrupt.value.get("review_configs"):
        return set.intersection(*(set(config["allowed_decisions"]) for config in configs))
    return set(_types(interrupt.response_schema))


def _types(schema: object) -> list[str]:
    """Find the types of decision in the schema of a single tool's approval."""
    match schema:
        case {"properties": {"type": {"const": str(name)}}}:
            return [name]
        case Mapping():
            return [name for value in schema.values() for name in _types(value)]
        case list():
            return [name for value in schema for name in _types(value)]
    return []


def _choices(interrupt: Interrupt) -> str:
    allowed = _allowed(interrupt)
    if allowed == {"respond"}:
        return "your answer"
    words = {"approve": "approve", "reject": "reject and a reason"}
    named = [text for name, text in words.items() if name in allowed]
    by_data = sorted(allowed - words.keys())
    return ", ".join([*named, *(f"a data part of type {name}" for name in by_data)])
