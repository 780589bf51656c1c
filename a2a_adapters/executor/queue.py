"""What an executor writes its events to."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from a2a.server.events import EventQueue

from a2a_adapters.observability.failures import LimitReachedError

if TYPE_CHECKING:
    from a2a.types import TaskStatus


class AnswersTooLargeError(LimitReachedError):
    """There is no room for more of an answer beside the others."""


class TextQueue(EventQueue):
    """The runtime's event queue: it joins chunks of text itself, and knows who has to wait."""

    @abstractmethod
    async def announce(self, status: TaskStatus) -> None:
        """Create the task, which begins with the message that is being answered."""

    @abstractmethod
    async def append_text(self, artifact_id: str, text: str, *, last: bool) -> None:
        """Append `text` to the text artifact, which the first chunk creates.

        Raises:
            AnswersTooLargeError: There is no room for it.
        """

    @abstractmethod
    async def keep(self, kind: str, body: bytes) -> None:
        """Store something of the conversation with the next event, or not at all."""

    @abstractmethod
    async def take_back(self, artifacts: int) -> None:
        """Drop all of the task's artifacts but the first ones."""

    @abstractmethod
    async def count_attempt(self) -> None:
        """Note that another attempt at a message begins, before it does."""

    @abstractmethod
    def waits(self) -> None:
        """Note that the message waits for its turn."""

    @abstractmethod
    def begins(self) -> None:
        """Note that the message's turn has come."""
