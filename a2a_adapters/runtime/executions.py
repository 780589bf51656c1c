"""What is being executed: each ends once, by itself or because it is left behind."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from a2a_adapters.runtime.room import Room

if TYPE_CHECKING:
    from a2a_adapters.runtime.run import Run

logger = logging.getLogger(__name__)


class Executions:
    """The runs of one agent. One that has answered and goes on keeps nothing from others.

    Args:
        most: How many there may be; those of one caller half of that.
    """

    def __init__(self, most: int) -> None:
        self.runs: set[Run] = set()
        self._room = Room(most)

    def has_room(self, caller: str) -> bool:
        """Tell whether a caller may begin another one."""
        return self._room.has(caller, 1)

    def add(self, run: Run) -> None:
        """Count a run that begins."""
        self.runs.add(run)
        self._room.take(run.caller, 1)

    def discard(self, run: Run) -> None:
        """Count a run no longer, which has ended."""
        self.runs.discard(run)
        self._room.take(run.caller, -1)

    async def leave_behind(self) -> None:
        """Leave those behind that had answered already when this was called before.

        One whose answer is still being stored waits for that.
        """
        for run in [run for run in self.runs if run.has_answered and not run.live.page.is_saving]:
            if not run.lingers:
                run.lingers = True
                continue
            logger.warning("task %s: its run does not end, left behind", run.live.task_id)
            run.leave()
