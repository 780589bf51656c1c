"""The bus: how the processes that share a storage talk to each other."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from a2a_adapters_sql.figures import StorageFigures


_HEARTBEAT = "\0"
"""The name in place of an agent's; no agent has it."""

_HEARTBEAT_SECONDS = 5.0
"""How often a process sends itself a letter."""


class Letter(NamedTuple):
    """What one process sends to another."""

    process: str
    """To whom; for who receives it, from whom."""
    agent: str
    """The agent that it is about."""
    body: bytes


class Bus(ABC):
    """Carries letters between processes.

    What one process sends to another arrives once and in order, or the receiver is told that
    something was lost.
    """

    @property
    @abstractmethod
    def is_ready(self) -> bool:
        """Whether it carries letters now."""

    @abstractmethod
    def listen(
        self, agent: str, receive: Callable[[Letter], None], on_loss: Callable[[], None]
    ) -> None:
        """Have the letters about an agent received from now on.

        Args:
            agent: The agent.
            receive: Called with each letter.
            on_loss: Called when letters may have been lost.
        """

    @abstractmethod
    async def send(self, letter: Letter) -> None:
        """Send a letter; return when it is on its way.

        Nobody is told if there is no such process.
        """


class Heartbeat:
    """Measures whether the bus delivers, and how long it takes, by letters to this process.

    Args:
        bus: The bus.
        process_id: This process.
        figures: Record the delay of the letters, and losses.
    """

    def __init__(self, bus: Bus, process_id: str, figures: StorageFigures) -> None:
        self._bus = bus
        self._letter = Letter(process_id, _HEARTBEAT, b"")
        self._figures = figures
        self._came = asyncio.Event()
        self._beating: asyncio.Task[None] | None = None
        bus.listen(_HEARTBEAT, self._receive, self._lose)

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
            await asyncio.sleep(_HEARTBEAT_SECONDS)
            await self._send()
            with suppress(TimeoutError):  # it is lost: another one is sent
                async with asyncio.timeout(_HEARTBEAT_SECONDS):
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
