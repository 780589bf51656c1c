"""The order of requests: those of one conversation are answered one at a time."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from a2a_adapters.executor.history import ConversationKey


class _Queue:
    """Whose turn it is in one conversation."""

    __slots__ = ("lock", "users")

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.users = 0


class Conversations:
    """The conversations of one agent in which requests are being answered.

    Args:
        seconds: How long a request waits for its turn.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._busy: dict[ConversationKey, _Queue] = {}

    def is_busy(self, key: ConversationKey) -> bool:
        """Tell whether a request of this conversation is being answered."""
        return key in self._busy

    def turn(self, key: ConversationKey) -> ConversationTurn:
        """Wait until earlier requests of the conversation are answered, then hold it.

        Raises:
            TimeoutError: An earlier request took longer than it may, and goes on.
        """
        queue = self._busy.setdefault(key, _Queue())
        queue.users += 1
        return ConversationTurn(self, key, queue, self._seconds)

    def release(self, key: ConversationKey, queue: _Queue) -> None:
        """Let a request's conversation go."""
        queue.users -= 1
        if not queue.users:
            del self._busy[key]


class ConversationTurn:
    """The time in which one request has its conversation for itself."""

    __slots__ = ("_conversations", "_has_left", "_key", "_queue", "_seconds")

    def __init__(
        self, conversations: Conversations, key: ConversationKey, queue: _Queue, seconds: float
    ) -> None:
        self._seconds = seconds
        self._conversations = conversations
        self._key = key
        self._queue = queue
        self._has_left = False

    async def __aenter__(self) -> Self:
        lock = self._queue.lock
        try:
            if lock.locked():
                async with asyncio.timeout(self._seconds):
                    await lock.acquire()
            else:
                await lock.acquire()
        except BaseException:
            self._conversations.release(self._key, self._queue)
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        self.leave()

    def leave(self) -> None:
        """Let the next request have the conversation, though this one may go on."""
        if not self._has_left:
            self._has_left = True
            self._queue.lock.release()
            self._conversations.release(self._key, self._queue)
