"""Resumes the broken stream of a remote agent's task."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from a2a.types import GetTaskRequest, StreamResponse, SubscribeToTaskRequest

from a2a_adapters.calling.errors import RemoteConnectionError, RemoteRefusedError
from a2a_adapters.calling.failures import reraise, translate
from a2a_adapters.protocol.errors import SERVER_ERROR

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from a2a.client import ClientCallContext

    from a2a_adapters.calling.answer import Answer
    from a2a_adapters.calling.connection import Connection
    from a2a_adapters.calling.errors import RemoteAgentError

_FIRST_DELAY = 0.1
_LONGEST_DELAY = 5.0


def has_broken_off(failure: RemoteAgentError) -> bool:
    """Return whether a stream ended while its task may continue."""
    if isinstance(failure, RemoteRefusedError):
        return failure.code == SERVER_ERROR
    return isinstance(failure, RemoteConnectionError)


async def resumed(
    connection: Connection, answer: Answer, context: ClientCallContext | None, retries: int
) -> AsyncGenerator[StreamResponse]:
    """Yield the remaining events of a task by subscribing to it, or else by polling it.

    Args:
        connection: The connection to the agent.
        answer: The answer so far. The reader folds each event into it.
        context: Activates extensions.
        retries: Maximum number of consecutive connection failures.

    Raises:
        RemoteAgentError: The agent stays unreachable, or does not know the task.
    """
    transport, card = connection.transport, connection.card
    task_id = answer.task_id
    delay = _FIRST_DELAY
    failures = 0
    while not answer.is_settled:
        try:
            if card.capabilities.streaming:
                async for response in _subscription(connection, task_id, context):
                    yield response
                    failures = 0
                    if answer.is_settled:
                        return
            yield StreamResponse(task=await transport.get_task(GetTaskRequest(id=task_id)))
            failures = 0
        except Exception as error:
            failure = translate(error, card)
            failures += 1
            if not isinstance(failure, RemoteConnectionError) or failures > retries:
                reraise(error, failure)
        if not answer.is_settled:
            await asyncio.sleep(delay)
            delay = min(2 * delay, _LONGEST_DELAY)


async def _subscription(
    connection: Connection, task_id: str, context: ClientCallContext | None
) -> AsyncGenerator[StreamResponse]:
    """Yield the events of a task; none if the agent refuses the subscription."""
    request = SubscribeToTaskRequest(id=task_id)
    try:
        async for response in connection.transport.subscribe(request, context=context):
            yield response
    except Exception as error:
        if isinstance(translate(error, connection.card), RemoteConnectionError):
            raise
        # The task has ended, or the agent does not support subscriptions: the caller polls.
