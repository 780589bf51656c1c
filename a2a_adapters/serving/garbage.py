"""The memory of a server: what it has loaded stays, and what it has freed goes to the system."""

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


class Garbage:
    """The collector of a process, which looks no more at what the process's apps are made of."""

    def __init__(self) -> None:
        self._apps = 0

    @cached_property
    def _is_the_hosts(self) -> bool:
        """Whether something was frozen before the first app: the process sees to it itself.

        That takes as long as there is much, tens of milliseconds: it is not asked for every app.
        """
        return gc.get_freeze_count() > 0

    @contextmanager
    def settled(self) -> Generator[None]:
        """Have the collector look no more, inside, at what is imported and built by now.

        Where another app is inside already, or the process does so itself, nothing is changed.
        """
        if self._is_the_hosts:
            yield
            return
        self._apps += 1
        if self._apps == 1:
            gc.collect()  # what is garbage by now would stay as well
            gc.freeze()
        try:
            yield
        finally:
            self._apps -= 1
            if not self._apps:
                gc.unfreeze()


settled = Garbage().settled

_TRIM_SECONDS = 10.0
"""How often free memory is given back. Where there is none, that takes a tenth of a millisecond."""


async def give_back_memory() -> None:
    """Have the C library give its free memory back to the system, until cancelled.

    glibc keeps what lies below anything that is still used: after a peak, nearly all of it.
    Other libraries give it back themselves.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if os.name == "posix" else None
    while trim is not None:
        await asyncio.sleep(_TRIM_SECONDS)
        await asyncio.to_thread(trim, 0)
