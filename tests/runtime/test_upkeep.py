"""Background work ends with the runtime."""

from __future__ import annotations

import asyncio

from a2a_adapters.protocol.errors import StorageUnavailableError
from a2a_adapters.runtime.upkeep import Upkeep


async def test_work_that_fails_on_cancellation_is_not_repeated():
    begun = asyncio.Event()

    async def work():
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError as error:
            raise StorageUnavailableError from error

    upkeep = Upkeep()
    upkeep.every(3_600, "work", work)
    await begun.wait()
    [doing] = asyncio.all_tasks() - {asyncio.current_task()}
    upkeep.close()
    await asyncio.wait({doing})
