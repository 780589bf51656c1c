"""Where a server lets its adapters keep what they know of conversations."""

from __future__ import annotations

from abc import ABC, abstractmethod

__all__ = ["StateStorage"]


class StateStorage(ABC):
    """What one agent keeps of its conversations, apart from what other agents do.

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
