"""A stream whose task another process may take before its first event."""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_adapters.protocol.errors import ConversationElsewhereError
from a2a_adapters.runtime.subscriber import Subscription

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from a2a_adapters.runtime.updates import AnyUpdate


class ReopeningSubscription(Subscription):
    """Is opened again, wherever the task is then, if another process has taken it.

    Args:
        first: The stream as it was opened here.
        reopen: Opens it again; raises an `A2AError` if that is refused.
    """

    def __init__(self, first: Subscription, reopen: Callable[[], Awaitable[Subscription]]) -> None:
        self._stream = first
        self._reopen = reopen

    async def take(self) -> list[AnyUpdate]:
        """Wait for updates and return all there are; an empty list is the end."""
        try:
            return await self._stream.take()
        except ConversationElsewhereError:  # nothing was told
            self._stream.close()
            self._stream = await self._reopen()
            return await self._stream.take()

    def close(self) -> None:
        """Stop reading."""
        self._stream.close()
