"""A message that begins something, on its way to the storage."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection

    from a2a.types import Message

    from a2a_adapters.runtime.live import LiveTask
    from a2a_adapters.storage.interface import AgentStorage, State


class Accepted(NamedTuple):
    """A message that begins something, as the storage knows it.

    A message without an id of its own has no name, and nothing can repeat it.
    """

    storage: AgentStorage
    live: LiveTask
    name: str

    async def keep_reply(self, reply: Message, kept: Collection[State] = ()) -> None:
        """Store the answer to a message that makes no task, and what is kept with that."""
        body = reply.SerializeToString() if self.name else None
        await self.storage.retract(self.live.owner, self.name, self.live.task_id, body, kept)

    async def retract(self) -> None:
        """Let a message that was refused be sent again."""
        await self.storage.retract(self.live.owner, self.name, self.live.task_id)
