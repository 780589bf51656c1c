"""Conversations with a remote agent."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from a2a_adapters import blocking
from a2a_adapters.errors import RemoteRefusedError, RemoteTaskError
from a2a_adapters.remote.reply import AgentReply

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator, Mapping

    from a2a_adapters.parts import JSON
    from a2a_adapters.remote.agent import MessageInput, RemoteAgent, RemoteEvent

__all__ = ["Conversation"]


class Conversation:
    """A run of messages to one agent, each answered before the next is sent.

    The agent names the conversation with its first answer. While one of its tasks waits for
    input, the next message is the answer to it.

    Attributes:
        context_id: The agent's contextId; "" before the first answer.
        task_id: The task that waits for the next message; "" when none does.
    """

    def __init__(self, agent: RemoteAgent, context_id: str = "") -> None:
        self._agent = agent
        self._locks: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = (
            WeakKeyDictionary()
        )
        self.context_id = context_id
        self.task_id = ""

    async def send(
        self, message: MessageInput, *, metadata: Mapping[str, JSON] | None = None
    ) -> AgentReply:
        """Send a message and return the whole answer.

        Raises:
            RemoteAgentError: There is none.
        """
        reply = None
        async for event in self.stream(message, metadata=metadata):
            reply = event
        assert isinstance(reply, AgentReply)  # noqa: S101 - a stream without one raises
        return reply

    async def stream(
        self, message: MessageInput, *, metadata: Mapping[str, JSON] | None = None
    ) -> AsyncGenerator[RemoteEvent]:
        """Send a message; yield the answer as it comes and last the whole `AgentReply`.

        Raises:
            RemoteAgentError: There is none.
        """
        # A question that is asked while this waits for its turn was not seen by whoever sent it.
        task_id = self.task_id
        async with self._turn():
            events = self._agent.stream(
                message, context_id=self.context_id, task_id=task_id, metadata=metadata
            )
            try:
                async for event in events:
                    if isinstance(event, AgentReply):
                        self._note(event, answered=task_id)
                    yield event
            except (RemoteTaskError, RemoteRefusedError) as error:
                self.context_id = error.context_id or self.context_id
                if self.task_id == task_id:  # it has ended, or nobody knows it: it takes no answer
                    self.task_id = ""
                raise
            finally:
                await events.aclose()

    def send_sync(
        self, message: MessageInput, *, metadata: Mapping[str, JSON] | None = None
    ) -> AgentReply:
        """`send` from blocking code."""
        return blocking.run(self.send(message, metadata=metadata))

    def stream_sync(
        self, message: MessageInput, *, metadata: Mapping[str, JSON] | None = None
    ) -> Generator[RemoteEvent]:
        """`stream` from blocking code."""
        return blocking.iterate(self.stream(message, metadata=metadata))

    def _note(self, reply: AgentReply, *, answered: str) -> None:
        self.context_id = reply.context_id or self.context_id
        if reply.is_question:
            self.task_id = reply.task_id
        elif self.task_id == answered:
            self.task_id = ""

    def _turn(self) -> asyncio.Lock:
        return self._locks.setdefault(asyncio.get_running_loop(), asyncio.Lock())


class Conversations:
    """The conversations of an agent by the caller's own key; the longest unused are forgotten."""

    def __init__(self, agent: RemoteAgent, limit: int) -> None:
        self._agent = agent
        self._limit = limit
        self._by_key: OrderedDict[tuple[str, str], Conversation] = OrderedDict()

    def get(self, key: str, context_id: str) -> Conversation:
        """Return the conversation with that key or contextId, a new one if there is none."""
        known = (key, context_id)
        conversation = self._by_key.pop(known, None) or Conversation(self._agent, context_id)
        self._by_key[known] = conversation
        if len(self._by_key) > self._limit:
            self._by_key.popitem(last=False)
        return conversation
