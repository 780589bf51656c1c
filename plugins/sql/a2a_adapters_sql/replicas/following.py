"""A reader of a task that another process works on."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import TYPE_CHECKING

from a2a_adapters.runtime.guard import hidden
from a2a_adapters.runtime.updates import Update

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable

    from a2a.server.events import Event
    from a2a.utils.errors import A2AError

    from a2a_adapters.runtime.subscriber import Subscriber


class Following:
    """Gives a reader the events of a task as they come.

    Args:
        subscriber: The reader.
        events: The events, by what came at once.
    """

    def __init__(self, subscriber: Subscriber, events: AsyncGenerator[Iterable[Event]]) -> None:
        self.error: A2AError | None = None
        self._subscriber = subscriber
        self._has_begun = asyncio.Event()
        self._reading = asyncio.create_task(self._read(events))

    async def begun(self) -> None:
        """Wait for the first event.

        Raises:
            A2AError: There is none.
        """
        await self._has_begun.wait()
        if self.error is not None and not self._subscriber.has_begun:
            raise self.error

    async def _read(self, batches: AsyncGenerator[Iterable[Event]]) -> None:
        try:
            async with aclosing(batches):
                async for events in batches:
                    for event in events:
                        self._subscriber.push(Update(event))
                    self._subscriber.has_begun = True
                    self._has_begun.set()
                    await self._subscriber.caught_up()  # until then its process is not asked on
                    if self._subscriber.is_closed:
                        return
        except Exception as error:  # the reader is told
            self.error = hidden(error, "a stream of another process")
        finally:
            self._subscriber.close()
            self._has_begun.set()

    def close(self) -> None:
        """Read no more."""
        self._reading.cancel()
