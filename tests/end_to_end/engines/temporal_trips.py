"""A front or a worker of Temporal; tests kill it."""

from __future__ import annotations

import asyncio
import sys
from datetime import timedelta
from pathlib import Path

from temporalio import activity, workflow
from temporalio.client import Client
from temporalio.worker import Worker

with workflow.unsafe.imports_passed_through():
    from a2a_adapters_temporal import A2AActivity, A2ACaller, TemporalWorkflow

    from a2a_adapters import Limits, ServerOptions, serve
    from tests.end_to_end.engines.journal import note

KIND, _, STORAGE, ENGINE, HOTELS, WORK = *sys.argv[1:6], Path(sys.argv[6])
LIMITS = Limits(sweep_seconds=1, run_seconds=7200, idle_seconds=7200)
hotels = A2AActivity("hotels", HOTELS)


@activity.defn
async def begin(trip: str) -> None:
    """Begin a trip."""
    note(WORK, "begin", trip)


@activity.defn
async def pay(trip: str) -> None:
    """Pay a trip."""
    note(WORK, "pay", trip)


@workflow.defn
class Book:
    """Books a trip."""

    @workflow.init
    def __init__(self, trip: str) -> None:
        self.caller = A2ACaller()

    @workflow.run
    async def run(self, trip: str) -> str:
        """Book a trip."""
        await workflow.execute_activity(begin, trip, start_to_close_timeout=timedelta(seconds=5))
        city = (await self.caller.ask("Where to?")).text
        hotel = (await hotels(self.caller, trip)).text
        await workflow.execute_activity(pay, trip, start_to_close_timeout=timedelta(seconds=5))
        return f"{hotel} in {city}"


async def work() -> None:
    """Work until the process is killed."""
    client = await Client.connect(ENGINE)
    async with Worker(
        client,
        task_queue="trips",
        workflows=[Book],
        activities=[begin, pay, hotels.activity],
        max_cached_workflows=0,  # no other worker waits for the cache of a dead one
    ):
        print("A2A agent at http://none/,", file=sys.stderr, flush=True)  # noqa: T201 - it works now
        await asyncio.Event().wait()


if __name__ == "__main__":
    if KIND == "worker":
        asyncio.run(work())
    target = TemporalWorkflow(lambda: Client.connect(ENGINE), Book.run, task_queue="trips")
    serve(target, port=0, options=ServerOptions(storage=STORAGE, limits=LIMITS))
