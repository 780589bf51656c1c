"""Where a server lets its adapters keep what they know of conversations."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

__all__ = ["StateStorage"]

ELSEWHERE = "elsewhere:"
"""Begins the name of what only tells where something else is kept."""


class StateStorage(ABC):
    """What one agent keeps of its conversations, apart from what other agents do.

    A database keeps for as long as it exists what is stored for no conversation, whose id is "".

    Attributes:
        url: Where the server's storage is, for frameworks that bring a store of their own:
            `memory:`, `sqlite:///file.db` or `postgresql://user:password@host/database`.
        agent: The agent's name, which is part of every key.
        is_durable: Whether it outlives its process.
    """

    url: str
    agent: str
    is_durable: bool

    @abstractmethod
    async def read_state(self, owner: str, context_id: str, kind: str) -> bytes | None:
        """Return what was last stored for a conversation under this name."""

    @abstractmethod
    async def write_state(self, owner: str, context_id: str, kind: str, body: bytes | None) -> None:
        """Store something for a conversation; None forgets it.

        Waits until it is stored: if the database is away, until it is back.
        """

    @abstractmethod
    async def swap_state(
        self, owner: str, context_id: str, kind: str, expected: bytes | None, body: bytes
    ) -> bool:
        """Store something in the place of what was read, unless that has changed meanwhile.

        For what several processes change: who is told False reads again, and tries again.

        Args:
            owner: Whose conversation it is.
            context_id: The conversation.
            kind: The name.
            expected: What was read; None for nothing.
            body: What is to be there. One that is there already counts as stored by this call,
                which may have been repeated: let each be different.

        Returns:
            Whether it is stored.
        """

    async def keep_elsewhere(self, owner: str, context_id: str, kind: str, name: str) -> None:
        """Note that more of a conversation is kept elsewhere, under a name; say so at each use."""
        await self.write_state(owner, context_id, ELSEWHERE + kind, name.encode())

    def forget_elsewhere(  # noqa: B027 - who forgets nothing for its age has nobody to tell
        self, kind: str, forget: Callable[[str], Awaitable[None]]
    ) -> None:
        """Have `forget` called with names of this kind once their conversations are too old.

        It may be called again with the same name.
        """
