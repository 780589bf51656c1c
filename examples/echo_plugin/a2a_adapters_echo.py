"""A complete third-party plugin, with its "framework".

`Echo` stands in for the agents of your framework. A real plugin does not import its framework at
the top: it looks in `sys.modules` first, because an object of a framework can exist only after
the framework has been imported.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass

from a2a_adapters import AgentEvent, AgentRequest, InvalidInputError, TextDelta
from a2a_adapters.plugin import Adapter, AgentDescription, hookimpl


@dataclass
class Echo:
    """An agent that repeats each message, word by word."""

    times: int = 1
    pause: float = 0.0


class EchoAdapter(Adapter):
    """Serves an `Echo`."""

    def __init__(self, echo: Echo) -> None:
        self._echo = echo

    def describe(self) -> AgentDescription:
        """Describe the agent for its card."""
        times = f"{self._echo.times} time(s)"
        return AgentDescription(name="Echo", description=f"Repeats each message, {times}.")

    def stream(self, request: AgentRequest) -> AsyncGenerator[AgentEvent, AgentRequest | None]:
        """Check the message before the task exists, then answer."""
        if not request.text:
            raise InvalidInputError("say something, as text")
        return self._repeat(request.text)

    async def _repeat(self, text: str) -> AsyncGenerator[AgentEvent, AgentRequest | None]:
        words = " ".join([text] * self._echo.times).split(" ")
        for position, word in enumerate(words):
            await asyncio.sleep(self._echo.pause)
            yield TextDelta(word if position == 0 else f" {word}")


@hookimpl
def a2a_adapt(target: object) -> Adapter | None:
    """Return an adapter for an `Echo`, and None for everything else."""
    return EchoAdapter(target) if isinstance(target, Echo) else None


agent = Echo(times=2)
"""Serve it: `a2a-adapters serve a2a_adapters_echo:agent`."""
