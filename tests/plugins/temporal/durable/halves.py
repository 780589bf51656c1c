"""The two tools of the agents."""

from __future__ import annotations

import asyncio
import os
from datetime import timedelta
from pathlib import Path

from a2a_adapters_temporal import emitting
from temporalio import activity

from tests.support.agents.chores import note, turns

LIMITS = {
    "start_to_close_timeout": timedelta(seconds=120),
    "heartbeat_timeout": timedelta(seconds=3),
}
"""The options of both tools: a repetition begins 3 s after the death of their worker."""

WORK = Path(os.environ["WORK"])


def model(support):
    """Return the model of the agent, made with a framework's `Fake`."""
    return support.Fake(turns(support, WORK))


@activity.defn
async def first() -> str:
    """Do the first half."""
    note(WORK, "steps", "first")
    async with emitting() as emit:
        emit("one ")
    return "done"


@activity.defn
async def second() -> str:
    """Do the second half."""
    note(WORK, "steps", "second")
    async with emitting() as emit:
        emit("tw")  # again when it is repeated
    note(WORK, "begun", "second")
    while not (WORK / "go").exists():
        activity.heartbeat()
        await asyncio.sleep(0.05)
    async with emitting() as emit:
        emit("o")
    return "done"
