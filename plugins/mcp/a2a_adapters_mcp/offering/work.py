"""Sends a message to an agent and follows its task; cancels the task if the caller leaves."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeAlias

from a2a.types import CancelTaskRequest, GetTaskRequest
from a2a.utils.errors import A2AError

from a2a_adapters import AgentReply, Progress, TextDelta, ToolCall, ToolResult
from a2a_adapters.concurrency import in_background
from a2a_adapters.dialects import Answer
from a2a_adapters.plugin import ProgressEvent
from a2a_adapters_mcp.offering.arguments import to_request

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence

    from a2a.server.context import ServerCallContext
    from a2a.types import Task

    from a2a_adapters import Part
    from a2a_adapters.dialects import DialectAgent

NewEvent: TypeAlias = TextDelta | ProgressEvent

Tell: TypeAlias = "Callable[[str], Awaitable[None]]"
"""Receives progress as one line."""


class Work:
    """An agent's work in a tool call.

    Args:
        agent: The agent.
        context: The caller's context.
        metadata: Metadata of the messages.
        tell: Receives progress.
    """

    def __init__(
        self,
        agent: DialectAgent,
        context: ServerCallContext,
        metadata: Mapping[str, str],
        tell: Tell,
    ) -> None:
        self._agent = agent
        self._context = context
        self._metadata = metadata
        self._tell = tell
        self._answer = Answer()
        self._begun = asyncio.Event()

    def know(self, task: Task) -> None:
        """Set the state of the task before the next message."""
        self._answer.ignore(task)

    async def send(
        self,
        parts: Sequence[Part],
        context_id: str,
        task_id: str = "",
        patience: float | None = None,
    ) -> AgentReply:
        """Send a message and return the answer so far; cancellation ends the task.

        Args:
            parts: Content of the message.
            context_id: Id of the conversation.
            task_id: Id of the task it answers.
            patience: Seconds to wait for the task; None waits until it is settled.

        Raises:
            InvalidInputError: The message cannot be represented in the protocol.
            A2AError: The message was refused.
        """
        request = to_request(parts, context_id, task_id, self._metadata)
        if task_id and not self._answer.task_id:
            asked = GetTaskRequest(id=task_id)
            if task := await self._agent.handler.on_get_task(asked, self._context):
                self.know(task)
        events = self._agent.follow(request, self._context, self._answer)
        following = asyncio.create_task(self._follow(events))
        try:
            await asyncio.wait({following}, timeout=patience)
            await self._begun.wait()
        except asyncio.CancelledError:
            in_background(self._end(following))
            raise
        if following.done():
            following.result()
        else:
            following.cancel()
        return self._answer.finish()[1]

    async def cancel(self) -> None:
        """Cancel the task unless it is terminal."""
        try:
            ending = CancelTaskRequest(id=self._answer.task_id)
            await self._agent.handler.on_cancel_task(ending, self._context)
        except A2AError:
            return

    async def _follow(self, events: AsyncGenerator[list[NewEvent]]) -> None:
        try:
            async for news in events:
                self._begun.set()
                for each in news:
                    if text := _line(each):
                        await self._tell(text)
        finally:
            self._begun.set()

    async def _end(self, following: asyncio.Task[None]) -> None:
        """Cancel the task once its id is known, since it may be starting."""
        await self._begun.wait()
        if self._answer.task_id:
            await self.cancel()
        following.cancel()


def _line(event: NewEvent) -> str:
    """Return an event as a line of progress, "" for none."""
    match event:
        case Progress(text=text):
            return text
        case ToolCall(name=name):
            return f"calls {name}"
        case ToolResult(name=name, is_error=is_error):
            return f"{name} {'failed' if is_error else 'is done'}"
        case _:
            return ""
