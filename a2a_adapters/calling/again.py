"""Calls that are made again where their connection broke."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

from a2a_adapters.calling.failure import may_have_begun
from a2a_adapters.calling.http import back_off

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

T = TypeVar("T")


async def read(call: Callable[[], Awaitable[T]], retries: int) -> T:
    """Return what a call returns that changes nothing, made so often again if it is lost.

    A call that was never begun has been made again already.
    """
    attempt = 0
    while True:
        try:
            return await call()
        except Exception as error:
            if attempt >= retries or not may_have_begun(error):
                raise
        await asyncio.sleep(back_off(attempt))
        attempt += 1
