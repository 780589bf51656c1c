"""When the events of a task that is read are at their end: it is over, or it asks."""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING

from a2a.types import Message, Task, TaskStatus, TaskStatusUpdateEvent

from a2a_adapters.protocol import states

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from a2a.server.events import Event


def id_of(event: Event) -> str:
    """Return the task that an event is of."""
    return event.id if isinstance(event, Task) else event.task_id


def status_after(events: Sequence[Event], status: TaskStatus | None) -> TaskStatus | None:
    """Return the status of a task after its latest events."""
    for event in events:
        if isinstance(event, Message):
            return TaskStatus(state=states.COMPLETED)
        if isinstance(event, Task | TaskStatusUpdateEvent):
            status = event.status
    return status


async def until_settled(
    batches: AsyncGenerator[Sequence[Event]], before: TaskStatus | None
) -> AsyncGenerator[Sequence[Event]]:
    """Yield events to the end of the task or its next question, which may have come unheard."""
    async with aclosing(batches):
        async for batch in batches:
            yield batch
            if settles(status_after(batch, before), before):
                return


def settles(status: TaskStatus | None, before: TaskStatus | None) -> bool:
    """Tell whether a task has ended or asked since, perhaps the same as before once more."""
    if status is None or before is None:
        return False
    return status.state in states.SETTLED and status != before


def has_ended(status: TaskStatus | None, before: TaskStatus | None, *, is_at_rest: bool) -> bool:
    """Tell whether nothing follows.

    Args:
        status: How the task is now.
        before: How it was told to be before.
        is_at_rest: Whether nobody has worked on it since: then an old question may be answered.
    """
    if status is None:
        return False
    if is_at_rest:
        return status.state in states.TERMINAL or settles(status, before)
    return status.state in states.SETTLED
