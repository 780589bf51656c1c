"""Large answers are made sense of beside the event loop: an agent may send what takes seconds."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar, TypeVarTuple

from a2a_adapters.concurrency.threads import computed

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

LARGE_BYTES = 64 * 1024
"""What is not larger takes less time than others should mind."""


async def made(size: int, function: Callable[[*Ts], T], *arguments: *Ts) -> T:
    """Return `function(*arguments)`, called beside the event loop if it works on much.

    Args:
        size: On how many bytes it works.
        function: What is called.
        arguments: What it is called with.
    """
    if size <= LARGE_BYTES:
        return function(*arguments)
    return await computed(function, *arguments)
