"""The order of requests: those of one conversation are answered one at a time."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from a2a_adapters.executor.history import ConversationKey


class Conversations:
    """The conversations of one agent in which requests are being answered.

    Args:
        seconds: How long a request waits for its turn.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._waiting: dict[ConversationKey, deque[asyncio.Future[None]]] = {}
        """Who waits for the request that is being answered."""

    def is_busy(self, key: ConversationKey) -> bool:
        """Tell whether a request of this conversation is being answered."""
        return key in self._waiting

    def turn(self, key: ConversationKey) -> ConversationTurn:
        """Return the time in which a request has the conversation for itself, to be entered."""
        return ConversationTurn(self, key)

    async def acquire(self, key: ConversationKey) -> None:
        """Wait until earlier requests of the conversation are answered, then hold it.

        Raises:
            TimeoutError: An earlier request took longer than it may, and goes on.
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
            if waiter.done() and not waiter.cancelled():  # it had just been given
                self.release(key)
            raise

    def release(self, key: ConversationKey) -> None:
        """Let the next request have the conversation."""
        waiting = self._waiting[key]
        while waiting:
            waiter = waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return
        del self._waiting[key]


class ConversationTurn:
    """The time in which one request has its conversation for itself."""

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
        """Wait for one of the slots, and have it as long as the conversation."""
        await slots.acquire()
        self._slots = slots

    async def __aexit__(self, *_: object) -> None:
        self.leave()

    def leave(self) -> None:
        """Let others have the slot and the conversation, though this one may go on."""
        slots, self._slots = self._slots, None
        if slots is not None:
            slots.release()
        if self._is_held:
            self._is_held = False
            self._conversations.release(self._key)
