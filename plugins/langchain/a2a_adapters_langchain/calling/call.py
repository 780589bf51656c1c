"""One call of a model: what is sent to its agent, and in which conversation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Generator, Mapping

    from a2a_adapters import JSON, AgentReply, Conversation, MessageInput, RemoteEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """What is sent, and where.

    Attributes:
        conversation: Where.
        message: What.
        task_id: The task it answers; None takes the one that waits now.
        metadata: Of the message.
    """

    conversation: Conversation
    message: MessageInput
    task_id: str | None = None
    metadata: Mapping[str, JSON] | None = None

    def send_sync(self) -> AgentReply:
        """Send it and return the whole answer; blocks."""
        return self.conversation.send_sync(
            self.message, task_id=self.task_id, metadata=self.metadata
        )

    def send(self) -> Awaitable[AgentReply]:
        """`send_sync` in async code."""
        return self.conversation.send(self.message, task_id=self.task_id, metadata=self.metadata)

    def stream_sync(self) -> Generator[RemoteEvent]:
        """Send it and yield the answer as it comes; blocks."""
        return self.conversation.stream_sync(
            self.message, task_id=self.task_id, metadata=self.metadata
        )

    def stream(self) -> AsyncGenerator[RemoteEvent]:
        """`stream_sync` in async code."""
        return self.conversation.stream(self.message, task_id=self.task_id, metadata=self.metadata)
