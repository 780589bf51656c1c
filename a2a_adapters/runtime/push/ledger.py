"""What receivers are owed: kept by the storage, so that another process goes on where one ended."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING

from a2a.server.context import ServerCallContext

from a2a_adapters.protocol import states
from a2a_adapters.protocol.errors import StorageUnavailableError
from a2a_adapters.storage.interface import PatientTaskStore

if TYPE_CHECKING:
    from collections.abc import Iterable

    from a2a.server.cluster.task_store import StoredTask

    from a2a_adapters.runtime.live import LiveTask
    from a2a_adapters.storage.interface import AgentStorage, Undelivered

_AT_ONCE = 1000
"""How many are begun by one look at what is due, so that those at a full host hold up no others."""

_PAUSE_SECONDS = 0.5
"""Between attempts to read a task."""

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

    async def settle(self, item: Undelivered) -> bool:
        """Note that a receiver has got a state, or never will; waits until that is stored.

        Returns:
            Whether no other process has owed the receiver a later state by then.
        """
        return not item.version or await self._storage.delivered(item)

    def is_ours(self, live: LiveTask, since: float) -> bool:
        """Return whether only this process can have worked on a task since a time.

        Args:
            live: The task.
            since: The time, of `time.monotonic`.
        """
        return bool(live.runs) and self._storage.is_unbroken(since)

    async def settled_elsewhere(self, live: LiveTask) -> StoredTask | None:
        """Return a task that another process has ended, or has ask its caller, since it was read.

        Waits until the storage answers.
        """
        store = self._storage.tasks
        if self._storage.bus is None or not isinstance(store, PatientTaskStore):
            return None
        context, known = ServerCallContext(user=live.user), live.page.version
        while True:
            with suppress(StorageUnavailableError):
                stored = await store.get(live.task_id, context)
                break
            await asyncio.sleep(_PAUSE_SECONDS)
        if stored is None or stored.version in (known, live.page.version):
            return None
        return stored if stored.task.status.state in states.SETTLED else None
