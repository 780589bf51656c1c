"""Orders requests: those of one conversation are answered one at a time."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from a2a_adapters.executor.history import ConversationKey


class Conversations:
    """The conversations of one agent that are in use; a request waits `seconds` for its turn."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._waiting: dict[ConversationKey, deque[asyncio.Future[None]]] = {}
        """The waiters of each conversation in use."""

    def is_busy(self, key: ConversationKey) -> bool:
        """Return whether a request of this conversation is being answered."""
        return key in self._waiting

    def turn(self, key: ConversationKey) -> ConversationTurn:
        """Return a request's turn, to be entered."""
        return ConversationTurn(self, key)

    async def acquire(self, key: ConversationKey) -> None:
        """Wait for earlier requests of the conversation, then hold it.

        Raises:
            TimeoutError: An earlier request exceeds its time and continues.
        """
        if key not in self._waiting:
            self._waiting[key] = deque()
            return
        waiter = asyncio.get_running_loop().create_future()
        self._waiting[key].append(waiter)
        try:
            async with asyncio.timeout(self._seconds):
                await waiter
        except BaseException:
            if waiter.done() and not waiter.cancelled():  # its turn has just come
                self.release(key)
            raise

    def release(self, key: ConversationKey) -> None:
        """Give the conversation to the next request."""
        waiting = self._waiting[key]
        while waiting:
            waiter = waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return
        del self._waiting[key]


class ConversationTurn:
    """Holds the conversation, and a slot, for one request."""

    __slots__ = ("_conversations", "_is_held", "_key", "_slots")

    def __init__(self, conversations: Conversations, key: ConversationKey) -> None:
        self._conversations = conversations
        self._key = key
        self._slots: asyncio.Semaphore | None = None
        self._is_held = False

    async def __aenter__(self) -> Self:
        await self._conversations.acquire(self._key)
        self._is_held = True
        return self

    async def take(self, slots: asyncio.Semaphore) -> None:
        """Wait for a slot, and hold it as long as the conversation."""
        await slots.acquire()
        self._slots = slots

    async def __aexit__(self, *_: object) -> None:
        self.leave()

    def leave(self) -> None:
        """Release the slot and the conversation."""
        slots, self._slots = self._slots, None
        if slots is not None:
            slots.release()
        if self._is_held:
            self._is_held = False
            self._conversations.release(self._key)
