"""A remote agent as a durable step of workflows."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from dbos import DBOS

from a2a_adapters import AgentReply, InvalidInputError, RemoteAgent, RemoteTaskError
from a2a_adapters.plugin import check_arguments
from a2a_adapters_dbos.workflow import ask

if TYPE_CHECKING:
    from typing import Unpack

    from a2a_adapters.plugin import AgentOptions, MessageInput


class A2AStep:
    """Calls a remote agent from workflows: `reply = await step("Paris")`.

    Each call is a step with a message id of its own, which every attempt sends, even in another
    process. So agents that recognise duplicates, as those of this package do, do the work once. A
    question of the agent becomes the workflow's, and the reply to it the next step. If the workflow
    is cancelled, so is the remote task.

    Args:
        agent: The agent, or its URL.
        attempts: The number of attempts if the agent is unreachable, beyond those of `RemoteAgent`.
    """

    def __init__(self, agent: RemoteAgent, *, attempts: int = 5) -> None:
        check_arguments(A2AStep, locals(), {"attempts"})
        self._agent = agent
        self._attempts = attempts

    async def __call__(self, message: MessageInput, *, context_id: str = "") -> AgentReply:
        """Send a message, and return the answer; call it in a workflow.

        Args:
            message: A text, a part or several parts.
            context_id: The conversation, from an earlier reply; empty starts a new one.

        Raises:
            RemoteTaskError: The remote task failed, was rejected or was cancelled.
            DBOSMaxStepRetriesExceeded: All attempts failed.
        """
        reply = await self._step(message, context_id, "")
        while reply.is_question:
            answer = await ask(reply.question)
            reply = await self._step(answer.parts, reply.context_id, reply.task_id)
        return reply

    async def _step(self, message: MessageInput, context_id: str, task_id: str) -> AgentReply:
        return await DBOS.run_step_async(
            {
                "name": f"a2a.{self._agent.name}",
                "retries_allowed": True,
                "max_attempts": self._attempts,
                "should_retry": _is_retried,
                "preemptible": True,
            },
            self._exchange,
            message,
            context_id,
            task_id,
        )

    async def _exchange(self, message: MessageInput, context_id: str, task_id: str) -> AgentReply:
        message_id = f"{DBOS.workflow_id}.{DBOS.step_id}"
        if task_id:
            task = self._agent.task(task_id)
            await task.answer(message, message_id=message_id)
        else:
            task = await self._agent.start(message, context_id=context_id, message_id=message_id)
        try:
            return await task.result()
        except asyncio.CancelledError:
            status = await DBOS.get_workflow_status_async(str(DBOS.workflow_id))
            if status is not None and status.status == "CANCELLED":  # not if the process stops
                await task.cancel()
            raise


def a2a_step(agent: str | RemoteAgent, **options: Unpack[AgentOptions]) -> A2AStep:
    """Return a remote agent as a step; `options` are those of `AgentOptions`."""
    return A2AStep(RemoteAgent.of(agent, **options))


def _is_retried(error: BaseException) -> bool:
    return not isinstance(error, RemoteTaskError | InvalidInputError)
