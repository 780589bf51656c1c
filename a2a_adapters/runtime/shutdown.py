"""Ends the running tasks of a process that shuts down."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from a2a_adapters.concurrency.background import let_fail
from a2a_adapters.protocol import states
from a2a_adapters.runtime.messages import STOPPED

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Coroutine, Mapping

    from a2a_adapters.runtime.live import LiveTask
    from a2a_adapters.runtime.registry import LiveTasks

_STORE_SECONDS = 3.0
"""Time limit for storing the last states."""

_LAST_SECONDS = 1.0
"""Time limit for cancelled runs to end."""

logger = logging.getLogger(__name__)


async def end_runs(
    tasks: LiveTasks,
    grace_seconds: float,
    hurried: asyncio.Event,
    leave: Callable[[LiveTask], bool],
) -> None:
    """Wait for running tasks, then end those that are left.

    Args:
        tasks: The live tasks.
        grace_seconds: The time to wait.
        hurried: Ends the waiting early.
        leave: Leaves a task to the next process; returns whether that can resume it.
    """
    running = {run: live for live in tasks.all() for run in live.runs}
    await _finished(running, grace_seconds, hurried)
    cut_off = {live for run, live in running.items() if not run.done() and _goes_on(live)}
    left = {live for live in cut_off if leave(live)}
    await _stored({live: live.set_state(states.FAILED, STOPPED) for live in cut_off - left})
    await _cancel(running)
    # Hand a task over only when nothing works on it here any more.
    for live in left:
        live.page.is_handed_over = not live.runs
    await _stored({live: live.save() for live in left})
    tasks.close()


async def _finished(
    runs: Collection[asyncio.Task[None]], seconds: float, hurried: asyncio.Event
) -> None:
    if not runs:
        return
    finishing = asyncio.ensure_future(asyncio.wait(runs))
    hurrying = asyncio.ensure_future(hurried.wait())
    try:
        await asyncio.wait(
            {finishing, hurrying}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED
        )
    finally:
        finishing.cancel()
        hurrying.cancel()


def _goes_on(live: LiveTask) -> bool:
    return not live.is_terminal and live.task is not None


async def _stored(endings: Mapping[LiveTask, Coroutine[None, None, None]]) -> None:
    """Store last states; a store that hangs does not delay shutdown."""
    writing = {asyncio.ensure_future(end): live for live, end in endings.items()}
    if writing:
        written, unwritten = await asyncio.wait(writing, timeout=_STORE_SECONDS)
        for ending in unwritten:
            ending.add_done_callback(let_fail)
            logger.error(
                "task %s: its last state was not stored in time; abandoned", writing[ending].task_id
            )
        for ending in written:
            if (error := ending.exception()) is not None:
                reason = type(error).__name__
                logger.warning(
                    "task %s: its end is not stored: %s", writing[ending].task_id, reason
                )


async def _cancel(running: Mapping[asyncio.Task[None], LiveTask]) -> None:
    for run in running:
        run.cancel()
    if running:
        _, stuck = await asyncio.wait(running, timeout=_LAST_SECONDS)
        for run in stuck:
            logger.error("task %s did not end; abandoned", running[run].task_id)
