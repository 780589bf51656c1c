"""What is being executed: each ends once, by itself or because it is left behind."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from a2a_adapters.runtime.run import Run

logger = logging.getLogger(__name__)


class Executions:
    """The runs of one agent. One that has answered and goes on keeps nothing from others."""

    def __init__(self) -> None:
        self.runs: set[Run] = set()

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
