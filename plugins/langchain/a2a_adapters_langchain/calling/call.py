"""One call of a model: what is sent to its agent, and in which conversation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from a2a_adapters import ConfigurationError, SendOptions
from a2a_adapters_langchain.calling.thread import THREAD

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Collection, Generator, Mapping

    from a2a_adapters import AgentReply, Conversation, MessageInput, RemoteEvent

# LangChain itself reads `stream`.
_PLACE = frozenset({"context_id", "task_id", THREAD, "stream"})


def send_options(kwargs: Mapping[str, Any], known: Collection[str] = _PLACE) -> SendOptions:
    """Return the options of a message by the arguments of a model's call.

    Args:
        kwargs: The arguments.
        known: The names of those that have another meaning.

    Raises:
        ConfigurationError: There are others, which an agent has no use for.
    """
    options = SendOptions(
        metadata=kwargs.get("message_metadata"),
        timeout=kwargs.get("timeout"),
        headers=kwargs.get("headers"),
    )
    taken = {"message_metadata", "timeout", "headers", *known}
    given = (name for name, value in kwargs.items() if value is not None)
    if unknown := sorted(set(given) - taken):
        raise ConfigurationError(f"an A2A agent takes no {', '.join(unknown)} in a call")
    return options


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """What is sent, and where.

    Attributes:
        conversation: Where.
        message: What.
        task_id: The task it answers; None takes the one that waits now.
        options: What the message has besides.
    """

    conversation: Conversation
    message: MessageInput
    task_id: str | None = None
    options: SendOptions = field(default_factory=SendOptions)

    def send_sync(self) -> AgentReply:
        """Send it and return the whole answer; blocks."""
        return self.conversation.send_sync(self.message, task_id=self.task_id, **self.options)

    def send(self) -> Awaitable[AgentReply]:
        """`send_sync` in async code."""
        return self.conversation.send(self.message, task_id=self.task_id, **self.options)

    def stream_sync(self) -> Generator[RemoteEvent]:
        """Send it and yield the answer as it comes; blocks."""
        return self.conversation.stream_sync(self.message, task_id=self.task_id, **self.options)

    def stream(self) -> AsyncGenerator[RemoteEvent]:
        """`stream_sync` in async code."""
        return self.conversation.stream(self.message, task_id=self.task_id, **self.options)
