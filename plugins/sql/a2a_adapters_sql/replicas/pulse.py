"""Whether the bus delivers, and how long it takes: a process sends itself a letter now and then."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from a2a_adapters_sql.replicas.bus import Letter

if TYPE_CHECKING:
    from a2a_adapters_sql.figures import StorageFigures
    from a2a_adapters_sql.replicas.bus import Bus

_ABOUT = "\0"
"""In place of an agent: none has such a name."""

_SECONDS = 5.0
"""How often."""


class Pulse:
    """Tells the figures how the bus does.

    Args:
        bus: The bus.
        process_id: This process.
        figures: Told how long letters take, and of losses.
    """

    def __init__(self, bus: Bus, process_id: str, figures: StorageFigures) -> None:
        self._bus = bus
        self._letter = Letter(process_id, _ABOUT, b"")
        self._figures = figures
        self._came = asyncio.Event()
        self._beating: asyncio.Task[None] | None = None
        bus.listen(_ABOUT, self._receive, self._lose)

    async def start(self) -> None:
        """Return once a first letter has arrived; the bus has started. Others follow."""
        await self._send()
        await self._came.wait()
        self._beating = asyncio.create_task(self._beat())

    def close(self) -> None:
        """Stop."""
        if self._beating is not None:
            self._beating.cancel()

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(_SECONDS)
            await self._send()
            with suppress(TimeoutError):  # it is lost: another one is sent
                async with asyncio.timeout(_SECONDS):
                    await self._came.wait()

    async def _send(self) -> None:
        self._came.clear()
        self._figures.ask_bus()
        await self._bus.send(self._letter)

    def _receive(self, _letter: Letter) -> None:
        self._figures.hear_bus()
        self._came.set()

    def _lose(self) -> None:
        self._figures.bus_losses += 1
