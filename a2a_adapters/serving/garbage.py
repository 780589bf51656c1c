"""Memory management of a server process: frozen long-lived objects, and trimming of the heap."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import os
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator


_NEW_OBJECTS = 10_000
"""New objects after which the collector runs. At Python's 700, it takes a twentieth of the time of
a server with 1,000 streams, and stops all of them for up to 0.1 s."""


class Garbage:
    """Lets the garbage collector run less often while apps of this process run.

    Long-lived objects are frozen, and more new ones are awaited.
    """

    def __init__(self) -> None:
        self._apps = 0
        self._threshold = gc.get_threshold()

    @cached_property
    def _is_managed(self) -> bool:
        """Whether the process had frozen objects itself; counting them takes tens of ms."""
        return gc.get_freeze_count() > 0

    @contextmanager
    def settled(self) -> Generator[None]:
        """Exclude the objects that exist now from garbage collection in the meantime.

        Does nothing if another app is running, or if the process freezes objects itself.
        """
        if self._is_managed:
            yield
            return
        self._apps += 1
        if self._apps == 1:
            # So that present garbage is not frozen. Little of it is old, as the collector has run
            # by itself, and to look at all objects takes a tenth of the time of a start.
            gc.collect(1)
            gc.freeze()
            self._threshold = young, *older = gc.get_threshold()
            gc.set_threshold(max(young, _NEW_OBJECTS) if young else 0, *older)
        try:
            yield
        finally:
            self._apps -= 1
            if not self._apps:
                gc.unfreeze()
                gc.set_threshold(*self._threshold)


settled = Garbage().settled

_TRIM_SECONDS = 10.0
"""Interval between trims. Without free memory, a trim takes 0.1 ms."""


async def trim_memory() -> None:
    """Return free memory of the C library to the system periodically, until cancelled.

    glibc keeps all memory below the highest used address: after a peak, nearly all of it. Other
    C libraries return it themselves.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if os.name == "posix" else None
    while trim is not None:
        await asyncio.sleep(_TRIM_SECONDS)
        await asyncio.to_thread(trim, 0)
