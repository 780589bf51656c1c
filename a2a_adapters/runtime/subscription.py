"""A caller's stream of one task's updates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol
from weakref import ref

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from a2a.server.events import Event
    from a2a.utils.errors import A2AError

    from a2a_adapters.observability.figures import Figures
    from a2a_adapters.runtime.live import LiveTask
    from a2a_adapters.runtime.subscriber import Subscriber
    from a2a_adapters.runtime.updates import AnyUpdate


class Source(Protocol):
    """Where the updates of a stream come from."""

    error: A2AError | None
    """Why there are none, or no more."""


class Subscription:
    """Read it to its end or close it: closing never touches the task itself.

    Args:
        subscriber: Gets the updates.
        figures: Count the stream.
        source: What they come from, if that may fail.
        on_close: Called once when nobody reads any more.
    """

    def __init__(
        self,
        subscriber: Subscriber,
        figures: Figures,
        source: Source | None = None,
        on_close: Callable[[], None] | None = None,
    ) -> None:
        self._subscriber = subscriber
        self._source = source
        self._on_close = on_close
        self._figures = figures
        self._is_open = True
        figures.open_streams += 1

    async def take(self) -> list[AnyUpdate]:
        """Wait for updates and return all there are; an empty list is the end.

        Raises:
            A2AError: The agent refused the message, and no update came before; or more updates
                came than this reader took in time.
        """
        updates = await self._subscriber.take()
        if not updates and self._source is not None and self._source.error is not None:
            raise self._source.error
        return updates

    async def events(self) -> AsyncGenerator[Event]:
        """Yield the updates as protocol events, and close at the end."""
        try:
            while updates := await self.take():
                for update in updates:
                    yield update.event
        finally:
            self.close()

    def close(self) -> None:
        """Stop reading."""
        if not self._is_open:
            return
        self._is_open = False
        self._figures.open_streams -= 1
        self._subscriber.leave()
        if self._on_close is not None:
            self._on_close()


def leaving(
    live: LiveTask, leave: Callable[[LiveTask, Subscriber], None], subscriber: Subscriber
) -> Callable[[], None]:
    """Return what lets a reader go. A reader that is slow keeps no task that has ended."""
    known = ref(live)

    def left() -> None:
        if (found := known()) is not None:
            leave(found, subscriber)

    return left
