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
        self._by_key: OrderedDict[ConversationKey, Conversation] = OrderedDict()

    def is_busy(self, key: ConversationKey) -> bool:
        """Tell whether a request of this conversation is being answered."""
        conversation = self._by_key.get(key)
        return conversation is not None and conversation.lock.locked()

    def turn(self, key: ConversationKey) -> _ConversationTurn:
        """Wait until earlier requests of the conversation are answered, then hold it."""
        conversation = self._by_key.get(key)
        if conversation is None:
            conversation = self._by_key[key] = Conversation(self._limits.history_messages)
        elif conversation.turns and self._is_stale(conversation):
            conversation.turns.clear()
        conversation.users += 1
        return _ConversationTurn(self, key, conversation)

    def release(self, key: ConversationKey, conversation: Conversation) -> None:
        """Let a request's conversation go."""
        conversation.users -= 1
        conversation.last_used = time.monotonic()
        if conversation.users:
            return
        if not conversation.turns:
            del self._by_key[key]
            return
        self._by_key.move_to_end(key)
        self._forget_old()

    def _forget_old(self) -> None:
        """Drop idle conversations from the least recently used end."""
        while self._by_key:
            key, oldest = next(iter(self._by_key.items()))
            too_many = len(self._by_key) > self._limits.conversations
            if oldest.users or not (too_many or self._is_stale(oldest)):
                return
            del self._by_key[key]

    def _is_stale(self, conversation: Conversation) -> bool:
        idle = time.monotonic() - conversation.last_used
        return not conversation.users and idle > self._limits.history_seconds


class _ConversationTurn:
    """The time in which one request has its conversation for itself."""

    __slots__ = ("_conversation", "_conversations", "_key")

    def __init__(
        self, conversations: Conversations, key: ConversationKey, conversation: Conversation
    ) -> None:
        self._conversations = conversations
        self._key = key
        self._conversation = conversation

    async def __aenter__(self) -> Conversation:
        try:
            await self._conversation.lock.acquire()
        except BaseException:
            self._conversations.release(self._key, self._conversation)
            raise
        return self._conversation

    async def __aexit__(self, *_: object) -> None:
        self._conversation.lock.release()
        self._conversations.release(self._key, self._conversation)
