"""The MCP servers of agents.

crewai connects anew for each call of their tools, and once more to learn which there are. Each time
it blocks the thread and runs a loop of its own, which nothing that cancels a run reaches.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING, Any

from crewai.events.types.mcp_events import MCPConnectionStartedEvent

if TYPE_CHECKING:
    from crewai import Crew


def uses_mcp(crew: Crew) -> bool:
    """Tell whether agents of a crew have MCP servers."""
    of_tasks = (task.agent for task in crew.tasks)
    agents = chain(crew.agents, of_tasks, [crew.manager_agent])
    return any(agent is not None and agent.mcps for agent in agents)


class McpCalls:
    """The calls of one run, to end them with it. Any of its threads may use this."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()
        self._is_over = False

    def take(self, event: Any) -> None:
        """Note the call that one of crewai's events tells of in its own task.

        Raises:
            CancelledError: The run is over; crewai would try again, and wait.
        """
        if not isinstance(event, MCPConnectionStartedEvent):
            return
        if self._is_over:
            raise asyncio.CancelledError
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - connecting is done in one
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def cancel(self) -> None:
        """End all calls; their servers are told, or ended."""
        self._is_over = True
        for task in list(self._tasks):
            with suppress(RuntimeError):  # a loop whose work has ended is closed
                task.get_loop().call_soon_threadsafe(task.cancel)
