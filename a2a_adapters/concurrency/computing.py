"""Long computations beside the event loop."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar, TypeVarTuple

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

LARGE_BYTES = 8 * 1024
"""What is larger may take longer to convert than others should wait."""

# One thread: however many large requests there are, the loop gets its share of the time. It is not
# one of those that blocking agents use: they may all be busy for long.
_thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="a2a-adapters-computing")


async def computed(function: Callable[[*Ts], T], *arguments: *Ts) -> T:
    """Return `function(*arguments)`, called beside the event loop.

    What works on `LARGE_BYTES` at most is called as it is: that takes less time than the way here.

    Args:
        function: What is called. The loop must not change what it reads meanwhile.
        arguments: What it is called with.
    """
    return await asyncio.get_running_loop().run_in_executor(_thread, function, *arguments)
