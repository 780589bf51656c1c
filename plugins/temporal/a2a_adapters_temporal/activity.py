"""Activities that stream text, and remote agents as activities."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from temporalio import activity, workflow
from temporalio.contrib.workflow_streams import WorkflowStreamClient
from temporalio.exceptions import ApplicationError

from a2a_adapters import InvalidInputError, RemoteAgent, RemoteTaskError
from a2a_adapters.plugin import check_arguments
from a2a_adapters_temporal.workflow import TOPIC

if TYPE_CHECKING:
    from temporalio.common import RetryPolicy

    from a2a_adapters_temporal.workflow import A2ACaller

_FLUSH = timedelta(milliseconds=100)
_HEARTBEAT_SECONDS = 5.0
_REFUSED = "A2ARefused"
"""The type of failures that another attempt does not change."""


@asynccontextmanager
async def emitting() -> AsyncGenerator[Callable[[str], None]]:
    """Yield a function that sends text to the caller of the activity's workflow.

    The workflow needs an `A2ACaller`. If the activity is repeated, its earlier text is withdrawn.
    """
    info = activity.info()
    client = WorkflowStreamClient.from_within_activity(batch_interval=_FLUSH)
    topic = client.topic(TOPIC)

    def emit(text: str) -> None:
        topic.publish({"text": text, "activity": info.activity_id, "attempt": info.attempt})

    async with client:
        yield emit


@dataclass
class A2AReply:
    """The answer of a remote agent.

    Attributes:
        text: Its text, and data as JSON.
        task_id: The remote task.
        context_id: The remote conversation.
        question: The agent's question; "" if the task has ended.
    """

    text: str
    task_id: str = ""
    context_id: str = ""
    question: str = ""


@dataclass
class _Call:
    text: str
    task_id: str = ""
    context_id: str = ""


class A2AActivity:
    """A remote agent as an activity: `reply = await hotels(self.caller, "Paris")`.

    Create it in a module that workers import, and register its `activity` at a worker. All attempts
    of a call send the message with the same id, so agents that recognise duplicates, as those of
    this package do, do the work once. A question of the agent becomes the workflow's. If the
    workflow is cancelled, so is the remote task.

    Args:
        name: A name, unique among the activities of the task queue.
        agent: The URL of the agent.
        timeout: The maximum time of one attempt.
        retry: Temporal's retries, by default without an end; failed tasks are not retried.
    """

    def __init__(
        self,
        name: str,
        agent: str,
        *,
        timeout: timedelta = timedelta(hours=1),
        retry: RetryPolicy | None = None,
    ) -> None:
        check_arguments(A2AActivity, locals(), {"name", "agent"})
        self._name, self._agent, self._timeout, self._retry = f"a2a.{name}", agent, timeout, retry

        @activity.defn(name=self._name)
        async def exchange(call: _Call) -> A2AReply:
            return await self._exchange(call)

        self.activity = exchange

    async def __call__(self, caller: A2ACaller, text: str, *, context_id: str = "") -> A2AReply:
        """Send a message, and return the answer; call it in a workflow."""
        reply = await self._execute(_Call(text, context_id=context_id))
        while reply.question:
            answer = await caller.ask(reply.question)
            reply = await self._execute(_Call(answer.text, reply.task_id, reply.context_id))
        return reply

    async def _execute(self, call: _Call) -> A2AReply:
        reply: A2AReply = await workflow.execute_activity(
            self._name,
            call,
            result_type=A2AReply,
            start_to_close_timeout=self._timeout,
            heartbeat_timeout=timedelta(seconds=4 * _HEARTBEAT_SECONDS),
            retry_policy=self._retry,
            cancellation_type=workflow.ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
        )
        return reply

    async def _exchange(self, call: _Call) -> A2AReply:
        info = activity.info()
        message_id = f"{info.workflow_run_id}.{info.activity_id}"
        agent = RemoteAgent(self._agent)
        beating = asyncio.ensure_future(_beat())
        try:
            if call.task_id:
                task = agent.task(call.task_id)
                await task.answer(call.text, message_id=message_id)
            else:
                task = await agent.start(
                    call.text, context_id=call.context_id, message_id=message_id
                )
            try:
                reply = await task.result()
            except asyncio.CancelledError:
                details = activity.cancellation_details()
                if details is not None and details.cancel_requested:  # not if the worker stops
                    await task.cancel()
                raise
        except (RemoteTaskError, InvalidInputError) as error:
            raise ApplicationError(str(error), type=_REFUSED, non_retryable=True) from error
        finally:
            beating.cancel()
            with suppress(asyncio.CancelledError):
                await beating
        return A2AReply(reply.whole_text, reply.task_id, reply.context_id, reply.question)


async def _beat() -> None:
    """Send a heartbeat, to which Temporal also responds with a cancellation."""
    while True:
        activity.heartbeat()
        await asyncio.sleep(_HEARTBEAT_SECONDS)
