"""How an agent in the middle of its run asks the caller."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from autogen_core import CancellationToken

Ask: TypeAlias = Callable[[str], Awaitable[str]]

current_ask: ContextVar[Ask] = ContextVar("current_ask")
"""Asks the caller of the run that the code belongs to."""


async def ask_caller(prompt: str, _token: CancellationToken | None = None) -> str:
    """Ask the caller; this is the `input_func` of a served `UserProxyAgent`."""
    return await current_ask.get()(prompt)
