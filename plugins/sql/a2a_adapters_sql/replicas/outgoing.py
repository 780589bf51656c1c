"""A stream on its way to another process: in parts that are neither many nor large."""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_adapters_sql.replicas.calls import pack
from a2a_adapters_sql.replicas.window import TAKEN_BYTES

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator, Sequence

    from a2a_adapters.runtime.subscriber import Subscription
    from a2a_adapters.runtime.updates import AnyUpdate


async def packed(subscription: Subscription) -> AsyncGenerator[bytes]:
    """Yield the events of a stream, those together that came at once; close it at the end."""
    try:
        while updates := await subscription.take():
            for some in _pieces(updates):
                yield pack(update.event for update in some)
    finally:
        subscription.close()


def _pieces(updates: Sequence[AnyUpdate]) -> Iterator[Sequence[AnyUpdate]]:
    """Cut what came at once into what is sent at once."""
    some: list[AnyUpdate] = []
    size = 0
    for update in updates:
        if some and size + update.size > TAKEN_BYTES:
            yield some
            some, size = [], 0
        some.append(update)
        size += update.size
    yield some
