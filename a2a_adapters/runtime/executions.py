"""What is being executed: each ends once, by itself or because it is left behind."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from a2a_adapters.runtime.run import Run

logger = logging.getLogger(__name__)


class Executions:
    """The runs of one agent. One that has answered and goes on keeps nothing from others."""

    def __init__(self) -> None:
        self._ends: dict[Run, Callable[[], None]] = {}
        self.runs = self._ends.keys()

    def add(self, run: Run, execution: asyncio.Task[None], on_end: Callable[[], None]) -> None:
        """Call `on_end` once when the run has ended, or is left behind."""
        self._ends[run] = on_end
        run.on_end = self._end
        execution.add_done_callback(lambda _: self._end(run))  # also if it is cancelled

    def _end(self, run: Run) -> None:
        if on_end := self._ends.pop(run, None):
            on_end()

    async def leave_behind(self) -> None:
        """Leave those behind that had answered already when this was called before."""
        for run in [run for run in self._ends if run.has_answered]:
            if not run.lingers:
                run.lingers = True
                continue
            logger.warning("task %s: its run does not end, left behind", run.live.task_id)
            run.leave()
            self._end(run)
