"""How an agent in the middle of its run asks the caller."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from autogen_core import CancellationToken

Ask: TypeAlias = Callable[[str, str], Awaitable[str]]

current_ask: ContextVar[Ask] = ContextVar("current_ask")
"""Asks the caller of the run that the code belongs to, by an agent's name and what it asks."""


def caller_input(agent: str) -> Callable[[str, CancellationToken | None], Awaitable[str]]:
    """Return the `input_func` of a served `UserProxyAgent`: it asks the caller."""

    async def ask_caller(prompt: str, _token: CancellationToken | None = None) -> str:
        return await current_ask.get()(agent, prompt)

    return ask_caller
