"""Conversations with a remote agent."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING

from a2a_adapters.calling.errors import RemoteRefusedError, RemoteTaskError
from a2a_adapters.calling.reply import WAITING, AgentReply, RemoteEvent
from a2a_adapters.concurrency import BoundedMap, Turns, blocking

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from typing import Unpack

    from a2a_adapters.calling.messenger import MessageInput, Messenger
    from a2a_adapters.calling.options import SendOptions


class Conversation:
    """A sequence of messages to one agent, sent one at a time.

    Create it with `RemoteAgent.conversation`. The agent assigns its id with the first answer. While
    a task of the conversation waits for input, the next message answers it.

    To continue an earlier conversation, the first message looks up the waiting task (ListTasks, A2A
    1.0, section 3.1.4). Agents without that operation, such as those of A2A 0.3, receive the
    message as a new task.

    Attributes:
        context_id: The agent's contextId; "" before the first answer.
        task_id: The task that waits for the next message; "" if there is none or it is unknown.
    """

    def __init__(self, messenger: Messenger, context_id: str = "") -> None:
        self._messenger = messenger
        self._turns = Turns()
        self._is_unknown = bool(context_id)
        self.context_id = context_id
        self.task_id = ""

    async def send(
        self, message: MessageInput, *, task_id: str | None = None, **options: Unpack[SendOptions]
    ) -> AgentReply:
        """Send a message and return the complete answer.

        Args:
            message: A text, a part or several parts.
            task_id: The task to answer; "" starts a new one; None means the one that waits now.
            **options: Metadata, timeout and headers, see `SendOptions`.

        Raises:
            RemoteAgentError: The call failed.
        """
        # Not `final_reply`, through which each resumption would pass.
        async for event in self.stream(message, task_id=task_id, **options):
            reply = event
        assert isinstance(reply, AgentReply)  # noqa: S101 - a stream without one raises
        return reply

    async def stream(
        self, message: MessageInput, *, task_id: str | None = None, **options: Unpack[SendOptions]
    ) -> AsyncGenerator[RemoteEvent]:
        """Send a message, yield the answer as it arrives, and finally the complete `AgentReply`.

        Arguments and errors are those of `send`.
        """
        # Determined now: this message cannot answer a question asked while it waits for its turn.
        answered = self.task_id if task_id is None else task_id
        async with self._turns:
            if self._is_unknown:
                if task_id is None and not answered:
                    answered = await self._messenger.open_question(self.context_id, **options)
                self._is_unknown = False
            exchange = await self._messenger.begin(
                message, context_id=self.context_id, task_id=answered, **options
            )
            exchange.forget = self._forget
            events = exchange.events()
            try:
                async for event in events:
                    if isinstance(event, AgentReply):
                        self._note(event, answered)
                    yield event
            except (RemoteTaskError, RemoteRefusedError):  # the task has ended or is unknown
                self._forget(answered)
                raise
            finally:
                await events.aclose()
                self.context_id = exchange.context_id or self.context_id
                if exchange.is_cancelled:
                    self._forget(answered)

    send_sync = blocking.running(send)
    stream_sync = blocking.iterating(stream)

    def _note(self, reply: AgentReply, answered: str) -> None:
        self.context_id = reply.context_id or self.context_id
        if reply.state in WAITING:  # read for every answer
            self.task_id = reply.task_id
        else:
            self._forget(answered)

    def _forget(self, task_id: str) -> None:
        if self.task_id == task_id:
            self.task_id = ""


class Conversations:
    """The conversations of an agent by local key. The least recently used are dropped."""

    def __init__(self, messenger: Messenger) -> None:
        self._messenger = messenger
        self._lock = Lock()
        self._by_name = BoundedMap[tuple[str, str], Conversation](messenger.options.conversations)

    def get(self, key: str | None, context_id: str) -> Conversation:
        """Return the conversation of a key, or of a contextId if there is no key."""
        name = ("context", context_id) if key is None else ("key", key)
        with self._lock:
            found = self._by_name.get(name)
            if found is None or not _is_current(found, key, context_id):
                found = self._with_context(context_id)
            self._by_name[name] = found
        return found

    def _with_context(self, context_id: str) -> Conversation:
        known = self._by_name.values() if context_id else ()
        same = (each for each in known if each.context_id == context_id)
        return next(same, None) or Conversation(self._messenger, context_id)


def _is_current(conversation: Conversation, key: str | None, context_id: str) -> bool:
    if key is None:
        return conversation.context_id == context_id  # some agents change the id in each answer
    return bool(conversation.context_id) or not context_id
