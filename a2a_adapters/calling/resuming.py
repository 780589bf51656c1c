"""Resumes the broken stream of a remote agent's task."""

from __future__ import annotations

import asyncio
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING

from a2a.types import GetTaskRequest, StreamResponse, SubscribeToTaskRequest

from a2a_adapters.calling.errors import RemoteConnectionError, RemoteRefusedError
from a2a_adapters.calling.failures import reraise, translate
from a2a_adapters.contract.events import PROGRESS_EXTENSION
from a2a_adapters.protocol import states
from a2a_adapters.protocol.errors import SERVER_ERROR

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable

    from a2a.client import ClientCallContext
    from a2a.types import Task

    from a2a_adapters.calling.answer import Answer
    from a2a_adapters.calling.connection import Connection
    from a2a_adapters.calling.errors import RemoteAgentError

_SETTLING_DELAYS = (0, 0.1, 0.2, 0.4, 0.8)
"""Delays before asking for a task whose stream ended too early, in seconds."""

_FIRST_DELAY = 0.1
_LONGEST_DELAY = 5.0
_LONGEST_SUBSCRIBED = 2.0
"""The longest delay for an agent that streams, because it may send chunks at any time."""


def has_broken_off(failure: RemoteAgentError) -> bool:
    """Return whether a stream ended while its task may continue."""
    if isinstance(failure, RemoteRefusedError):
        return failure.code == SERVER_ERROR
    return isinstance(failure, RemoteConnectionError)


async def settling(
    answer: Answer, current_task: Callable[[str], Awaitable[Task | None]]
) -> AsyncGenerator[StreamResponse]:
    """Yield the task if its events ended with a Message or with an unchanged question.

    Some agents end the stream there but keep working, such as a2a-sdk 0.3 at a task that waits for
    input. A task that does not change settles the answer.

    Args:
        answer: The answer so far. The reader folds each event into it.
        current_task: Returns the current task, or None if the agent does not provide it.
    """
    ends_with_message = answer.ends_with_message
    if not ends_with_message and not answer.is_old_question:
        return
    for delay in _SETTLING_DELAYS:
        await asyncio.sleep(delay)
        if (task := await current_task(answer.task_id)) is None:
            break
        is_settled = task.status.state in states.SETTLED and task.status != answer.old_status
        if ends_with_message and not is_settled:
            break
        yield StreamResponse(task=task)
        if not answer.is_old_question:
            return
    answer.settle()


async def resumed(
    connection: Connection,
    answer: Answer,
    context: ClientCallContext | None,
    retries: int,
    news: Callable[[], Awaitable[None]] | None = None,
    *,
    patience: float = 0,
) -> AsyncGenerator[StreamResponse]:
    """Yield the remaining events of a task by subscribing to it, or else by polling it.

    Args:
        connection: The connection to the agent.
        answer: The answer so far. The reader folds each event into it.
        context: Activates extensions.
        retries: Maximum number of consecutive connection failures.
        news: Waits for a change of the task, instead of a subscription and pauses.
        patience: Time in seconds for which more connection failures are accepted, because the agent
            may be restarting.

    Raises:
        RemoteAgentError: The agent stays unreachable, or does not know the task.
    """
    transport, card = connection.transport, connection.card
    task_id = answer.task_id
    streams = connection.streams and news is None
    delay, longest = _FIRST_DELAY, _LONGEST_SUBSCRIBED if streams else _LONGEST_DELAY
    failures, lost_at = 0, 0.0
    now = asyncio.get_running_loop().time
    while not answer.is_settled:
        try:
            if streams:
                async with aclosing(_subscription(connection, task_id, context)) as responses:
                    async for response in responses:
                        yield response
                        failures = 0
                        if answer.is_settled:
                            return
            yield StreamResponse(task=await transport.get_task(GetTaskRequest(id=task_id)))
            failures = 0
        except Exception as error:
            failure = translate(error, card)
            lost_at = lost_at if failures else now()
            failures += 1
            is_lost = failures > retries and now() - lost_at >= patience
            if is_lost or not isinstance(failure, RemoteConnectionError):
                reraise(error, failure)
        if not answer.is_settled:
            await (news() if news and not failures else asyncio.sleep(delay))
            delay = min(2 * delay, longest)


async def _subscription(
    connection: Connection, task_id: str, context: ClientCallContext | None
) -> AsyncGenerator[StreamResponse]:
    """Yield the events of a task; none if the agent refuses the subscription or it breaks.

    Ends at a chunk that the task of an earlier event may contain, so that the caller polls:
    a2a-sdk (1.3) sends the chunks that were added while it read the task once more, and in A2A 0.3
    subscriptions do not begin with the task.
    """
    request = SubscribeToTaskRequest(id=task_id)
    is_exact = PROGRESS_EXTENSION in connection.extensions  # the runtime of this package
    has_task = False
    fresh: set[str] = set()
    # The task may have ended, the agent may not support subscriptions, or the connection breaks, as
    # it does if servers of a2a-sdk (1.3) refuse in HTTP+JSON of 0.3: the caller polls.
    with suppress(Exception):
        async with aclosing(connection.transport.subscribe(request, context=context)) as responses:
            async for response in responses:
                has_task = has_task or response.HasField("task")
                update = response.artifact_update
                if not update.append:
                    fresh.add(update.artifact.artifact_id)
                if not has_task or not (is_exact or update.artifact.artifact_id in fresh):
                    return
                yield response
