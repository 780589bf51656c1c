"""One conversation per (owner, contextId): requests in order, and what was said before."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict, deque
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from a2a_adapters.adapter import Turn
    from a2a_adapters.limits import Limits

ConversationKey: TypeAlias = tuple[str, str]
"""Owner and contextId. Two owners using one contextId have two conversations."""


class Conversation:
    """The turns of one conversation, and whose turn it is now."""

    __slots__ = ("last_used", "lock", "turns", "users")

    def __init__(self, max_turns: int) -> None:
        self.turns: deque[Turn] = deque(maxlen=max_turns)
        self.lock = asyncio.Lock()
        self.users = 0
        self.last_used = 0.0


class Conversations:
    """All conversations of one agent, bounded in number, length and idle time."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._busy: dict[ConversationKey, Conversation] = {}
        self._idle: OrderedDict[ConversationKey, Conversation] = OrderedDict()

    def is_busy(self, key: ConversationKey) -> bool:
        """Tell whether a request of this conversation is being answered."""
        return key in self._busy

    def turn(self, key: ConversationKey) -> _ConversationTurn:
        """Wait until earlier requests of the conversation are answered, then hold it.

        Raises:
            TimeoutError: An earlier request took longer than it may, and goes on.
        """
        conversation = self._busy.get(key)
        if conversation is None:
            self._forget_old()
            new = Conversation(self._limits.history_messages)
            conversation = self._busy[key] = self._idle.pop(key, new)
        conversation.users += 1
        return _ConversationTurn(self, key, conversation, self._limits.run_seconds)

    def release(self, key: ConversationKey, conversation: Conversation) -> None:
        """Let a request's conversation go."""
        conversation.users -= 1
        if conversation.users:
            return
        del self._busy[key]
        if conversation.turns:
            conversation.last_used = time.monotonic()
            self._idle[key] = conversation
            self._forget_old()

    def _forget_old(self) -> None:
        """Drop idle conversations from the least recently used end."""
        oldest_kept = time.monotonic() - self._limits.history_seconds
        while self._idle:
            key, oldest = next(iter(self._idle.items()))
            too_many = len(self._idle) > self._limits.conversations
            if not too_many and oldest.last_used > oldest_kept:
                return
            del self._idle[key]


class _ConversationTurn:
    """The time in which one request has its conversation for itself."""

    __slots__ = ("_conversation", "_conversations", "_key", "_seconds")

    def __init__(
        self,
        conversations: Conversations,
        key: ConversationKey,
        conversation: Conversation,
        seconds: float,
    ) -> None:
        self._seconds = seconds
        self._conversations = conversations
        self._key = key
        self._conversation = conversation

    async def __aenter__(self) -> Conversation:
        lock = self._conversation.lock
        try:
            if lock.locked():
                async with asyncio.timeout(self._seconds):
                    await lock.acquire()
            else:
                await lock.acquire()
        except BaseException:
            self._conversations.release(self._key, self._conversation)
            raise
        return self._conversation

    async def __aexit__(self, *_: object) -> None:
        self._conversation.lock.release()
        self._conversations.release(self._key, self._conversation)
