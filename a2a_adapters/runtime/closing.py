"""The end of a runtime: what runs gets its time, and is then ended with a reason."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from a2a_adapters import states
from a2a_adapters.runtime.run import status_event

if TYPE_CHECKING:
    from a2a_adapters.runtime.registry import LiveTasks

STOPPED = "The server was stopped."

_LAST_SECONDS = 1.0
"""How long cancelled runs may take to end."""

logger = logging.getLogger(__name__)


async def end_runs(tasks: LiveTasks, grace_seconds: float) -> None:
    """Let everything that runs go on for so long, then end it; its readers are told."""
    running = {run: live for live in tasks.all() for run in live.runs}
    if running:
        await asyncio.wait(running, timeout=grace_seconds)
    for run, live in running.items():
        if not run.done():
            if not live.is_over and live.task is not None:
                await live.apply(status_event(live, states.FAILED, STOPPED))
            run.cancel()
    if running:
        _, stuck = await asyncio.wait(running, timeout=_LAST_SECONDS)
        for run in stuck:
            logger.error("task %s does not end, left behind", running[run].task_id)
    tasks.close()
