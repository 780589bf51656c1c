"""Keeps the state of skills apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_adapters.plugin import StateStorage

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


class SkillStorage(StateStorage):
    """The part of an agent's storage that belongs to one of its skills."""

    def __init__(self, storage: StateStorage, skill: str) -> None:
        self._storage = storage
        self._skill = skill
        self.url = storage.url
        self.agent = f"{storage.agent}/{skill}"
        self.is_durable = storage.is_durable

    async def read_state(self, owner: str, context_id: str, kind: str) -> bytes | None:
        """Return the skill's state of this kind, or None."""
        return await self._storage.read_state(owner, context_id, self._own(kind))

    async def write_state(self, owner: str, context_id: str, kind: str, body: bytes | None) -> None:
        """Store the skill's state of this kind, or delete it if `body` is None."""
        await self._storage.write_state(owner, context_id, self._own(kind), body)

    async def swap_state(
        self, owner: str, context_id: str, kind: str, expected: bytes | None, body: bytes
    ) -> bool:
        """Replace the skill's state if it is still the expected one."""
        return await self._storage.swap_state(owner, context_id, self._own(kind), expected, body)

    async def keep_elsewhere(self, owner: str, context_id: str, kind: str, name: str) -> None:
        """Record that the conversation has state of the skill in another store."""
        await self._storage.keep_elsewhere(owner, context_id, self._own(kind), name)

    def forget_elsewhere(self, kind: str, forget: Callable[[str], Awaitable[None]]) -> None:
        """Register the function that deletes state of the skill in another store."""
        self._storage.forget_elsewhere(self._own(kind), forget)

    def _own(self, kind: str) -> str:
        return f"{self._skill}/{kind}"
