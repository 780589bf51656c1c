"""The bus: how the processes that share a storage talk to each other."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable


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
