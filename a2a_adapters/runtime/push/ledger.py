"""What receivers are owed: kept by the storage, so that another process goes on where one ended."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from a2a_adapters.storage.interface import AgentStorage, Undelivered

_AT_ONCE = 1000
"""How many are begun by one look at what is due, so that those at a full host hold up no others."""

_UNSTORED = 100_000
"""Some 500 bytes each."""


class Ledger:
    """Knows what is still to be delivered.

    Args:
        storage: Remembers it.
    """

    def __init__(self, storage: AgentStorage) -> None:
        self._storage = storage
        self._due: dict[tuple[str, str, str], Undelivered] = {}

    async def due(self) -> list[Undelivered]:
        """Return what nobody delivers at the moment: put off, or left by processes that are gone.

        Raises:
            StorageUnavailableError: The storage could not be asked in time.
        """
        self.put_off(await self._storage.undelivered())
        return [self._due.pop(place) for place in list(islice(self._due, _AT_ONCE))]

    def put_off(self, items: Iterable[Undelivered]) -> None:
        """Have something delivered later, for it cannot be now.

        What is not stored (version 0) is kept up to a limit.
        """
        for item in items:
            if item.version or len(self._due) < _UNSTORED:
                self._due[item.owner, item.task_id, item.config_id] = item

    async def settle(self, item: Undelivered) -> None:
        """Note that a receiver has got a state, or never will; waits until that is stored."""
        if item.version:
            await self._storage.delivered(item)
