"""Large answers are made sense of beside the event loop: an agent may send what takes seconds."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, TypeVar, TypeVarTuple

from a2a_adapters.concurrency.threads import ThreadPool

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

LARGE_BYTES = 64 * 1024
"""What is not larger takes less time than others should mind."""

_THREADS = 2
"""Few: however many answers are large, the loop gets its share of the time."""


def _pool() -> ThreadPool:
    return ThreadPool(_THREADS, "a2a-adapters-answers")


_threads = _pool()


def _renew() -> None:
    global _threads  # noqa: PLW0603 - a forked process has the pool, but not its threads
    _threads = _pool()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)


async def made(size: int, function: Callable[[*Ts], T], *arguments: *Ts) -> T:
    """Return `function(*arguments)`, called beside the event loop if it works on much.

    Args:
        size: On how many bytes it works.
        function: What is called.
        arguments: What it is called with.
    """
    if size <= LARGE_BYTES:
        return function(*arguments)
    return await asyncio.get_running_loop().run_in_executor(_threads, function, *arguments)
