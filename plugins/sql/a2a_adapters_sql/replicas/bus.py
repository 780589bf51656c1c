"""The bus between processes that share a storage."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from a2a_adapters_sql.figures import StorageFigures


_HEARTBEAT = "\0"
"""Pseudo agent name of heartbeats."""

_HEARTBEAT_SECONDS = 5.0
"""Interval of heartbeats."""


class BusMessage(NamedTuple):
    """A message between processes."""

    process: str
    """The receiver when sending, the sender when receiving."""
    agent: str
    """The agent concerned."""
    body: bytes


class Bus(ABC):
    """Carries messages between processes.

    Messages arrive once and in order, or the receiver is notified of a
    possible loss.
    """

    @property
    @abstractmethod
    def is_ready(self) -> bool:
        """Whether it can deliver messages now."""

    @abstractmethod
    def listen(
        self, agent: str, receive: Callable[[BusMessage], None], on_loss: Callable[[], None]
    ) -> None:
        """Subscribe to the messages about an agent.

        Args:
            agent: The agent.
            receive: Called with each message.
            on_loss: Called when messages may have been lost.
        """

    @abstractmethod
    async def send(self, message: BusMessage) -> None:
        """Send a message; return when the carrier has it.

        Messages to unknown processes are dropped silently.
        """


class Heartbeat:
    """Measures delivery and delay of the bus with messages to this process.

    Args:
        bus: The bus.
        process_id: This process.
        figures: Record delays and losses.
    """

    def __init__(self, bus: Bus, process_id: str, figures: StorageFigures) -> None:
        self._bus = bus
        self._letter = BusMessage(process_id, _HEARTBEAT, b"")
        self._figures = figures
        self._came = asyncio.Event()
        self._beating: asyncio.Task[None] | None = None
        bus.listen(_HEARTBEAT, self._receive, self._lose)

    async def start(self) -> None:
        """Start sending; return after the first arrival. The bus must be started."""
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
            with suppress(TimeoutError):  # lost: send another one
                async with asyncio.timeout(_HEARTBEAT_SECONDS):
                    await self._came.wait()

    async def _send(self) -> None:
        self._came.clear()
        self._figures.ask_bus()
        await self._bus.send(self._letter)

    def _receive(self, _letter: BusMessage) -> None:
        self._figures.hear_bus()
        self._came.set()

    def _lose(self) -> None:
        self._figures.bus_losses += 1
