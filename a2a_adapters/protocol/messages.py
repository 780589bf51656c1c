"""Messages and statuses as an agent makes them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from a2a.types import Message, Role, TaskState, TaskStatus, TaskStatusUpdateEvent

from a2a_adapters.parts import Part, Text
from a2a_adapters.protocol.conversion import to_protocol
from a2a_adapters.protocol.ids import new_id

if TYPE_CHECKING:
    from collections.abc import Sequence

ANSWER = "answer"
"""Name of the artifact that holds the answer's text."""


def agent_message(parts: Sequence[Part], context_id: str, task_id: str = "") -> Message:
    """Return a message of the agent."""
    return Message(
        message_id=new_id(),
        role=Role.ROLE_AGENT,
        parts=to_protocol(parts),
        context_id=context_id,
        task_id=task_id,
    )


def status(state: TaskState, message: Message | None = None) -> TaskStatus:
    """Return a status of now."""
    seconds, nanoseconds = divmod(time.time_ns(), 1_000_000_000)
    timestamp = {"seconds": seconds, "nanos": nanoseconds // 1000 * 1000}
    return TaskStatus(state=state, message=message, timestamp=timestamp)


def status_event(
    task_id: str, context_id: str, state: TaskState, text: str = ""
) -> TaskStatusUpdateEvent:
    """Return a change of state of now, with `text` as the agent's message if there is any."""
    message = agent_message([Text(text)], context_id, task_id) if text else None
    return TaskStatusUpdateEvent(
        task_id=task_id, context_id=context_id, status=status(state, message)
    )
