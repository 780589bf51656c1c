"""Questions as interrupts: https://docs.ag-ui.com/concepts/interrupts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from a2a.types import TaskState
from ag_ui.core import Interrupt
from pydantic_core import to_json

from a2a_adapters import Data, Text
from a2a_adapters.dialects import message_parts
from a2a_adapters.plugin import as_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from a2a.types import Task

    from a2a_adapters import AgentReply, Part
    from a2a_adapters.plugin import JSON

_NEEDS_AUTH = "a2a:auth_required"
_NEEDS_INPUT = "input_required"


def interrupt_id(task: Task) -> str:
    """Return an id for a task's question, different from those of its other questions."""
    return f"{task.id}:{task.status.message.message_id}"


def interrupt(task: Task, reply: AgentReply) -> Interrupt:
    """Return a question as an interrupt.

    Args:
        task: The task that asks.
        reply: Its answer, which ends with the question.
    """
    is_auth = task.status.state == TaskState.TASK_STATE_AUTH_REQUIRED
    data = [part.value for part in reply.status_parts if isinstance(part, Data)]
    return Interrupt(
        id=interrupt_id(task),
        reason=_NEEDS_AUTH if is_auth else _NEEDS_INPUT,
        message=reply.question or None,
        response_schema=_schema(data),
        metadata={"a2a": as_json({"taskId": task.id, "data": data})},
    )


class ToolUse(NamedTuple):
    """A call of a tool of the front end."""

    id: str
    name: str
    arguments: JSON


def tool_use(task: Task) -> ToolUse | None:
    """Return the call of a front end's tool that a task waits for, None if there is none."""
    for part in message_parts(task.status.message):
        match part:
            case Data(value={"tool_call": {"name": str(name), **rest}}):
                return ToolUse(interrupt_id(task), name, as_json(rest.get("arguments", {})))
    return None


def answer_part(task: Task, payload: object) -> Part:
    """Return the answer to a task's question as a part of a message.

    Approvals of AG-UI become words, which agents of every framework understand, unless the question
    has a schema.
    """
    asked = [part.value for part in message_parts(task.status.message) if isinstance(part, Data)]
    match payload:
        case str():
            return Text(payload)
        case bool(is_yes) | {"approved": bool(is_yes)} if _schema(asked) is None:
            return Text("yes" if is_yes else "no")
        case dict() | list():
            return Data(payload)
        case _:
            return Text(to_json(payload).decode())


def _schema(data: Sequence[object]) -> dict[str, Any] | None:
    for value in data:
        match value:
            case {"response_schema": dict(schema)}:
                return schema
    return None
