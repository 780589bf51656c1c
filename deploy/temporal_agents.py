"""Agents whose workflows run on workers of Temporal, see temporal.yaml; replace the workflow."""

from __future__ import annotations

import asyncio
import os
import signal
from datetime import timedelta

from temporalio import activity, workflow
from temporalio.client import Client
from temporalio.worker import Worker

with workflow.unsafe.imports_passed_through():
    from a2a_adapters_temporal import A2ACaller, TemporalWorkflow


@activity.defn
async def find_hotel(city: str) -> str:
    """Find a hotel."""
    return f"Hotel {city}"


@workflow.defn
class Book:
    """Books a journey."""

    @workflow.init
    def __init__(self, text: str) -> None:  # noqa: ARG002 - Temporal passes what `run` gets
        self.caller = A2ACaller()

    @workflow.run
    async def run(self, text: str) -> str:
        """Book a journey."""
        city = (await self.caller.ask("Where to?")).text
        hotel = await workflow.execute_activity(
            find_hotel, city, start_to_close_timeout=timedelta(minutes=1)
        )
        return f"{text}: you stay at {hotel}."


async def connect() -> Client:
    """Return a client of Temporal."""
    return await Client.connect(os.environ["TEMPORAL_ADDRESS"])


agent = TemporalWorkflow(connect, Book.run, task_queue="agents")


async def work() -> None:
    """Work until the process is told to stop."""
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    async with Worker(
        await connect(),
        task_queue="agents",
        workflows=[Book],
        activities=[find_hotel],
        graceful_shutdown_timeout=timedelta(seconds=30),
    ):
        await stopped.wait()


if __name__ == "__main__":  # a worker
    asyncio.run(work())
