"""Fronts and workers of Temporal that tests kill."""

from __future__ import annotations

import asyncio
import sys
from datetime import timedelta
from pathlib import Path

from temporalio import activity, workflow
from temporalio.client import Client
from temporalio.worker import Worker

with workflow.unsafe.imports_passed_through():
    from a2a_adapters_temporal import A2ACaller, TemporalWorkflow, emitting

    from a2a_adapters import ServerOptions, serve

QUEUE = "killed"


def note(name, text):
    with (Path(sys.argv[4]) / name).open("a") as file:
        file.write(f"{text}\n")


@activity.defn
async def first(text: str) -> None:
    async with emitting() as emit:
        emit("one ")
    note("steps", text)


@activity.defn
async def second(text: str) -> None:
    async with emitting() as emit:
        emit("tw")  # again when it is repeated
    note("begun", text)
    while not (Path(sys.argv[4]) / "go").exists():
        activity.heartbeat()
        await asyncio.sleep(0.05)
    async with emitting() as emit:
        emit("o")


@workflow.defn
class Chores:
    @workflow.init
    def __init__(self, text: str) -> None:
        self.caller = A2ACaller()

    @workflow.run
    async def run(self, text: str) -> None:
        await self.caller.ask("Ready?")
        for step in (first, second):
            await workflow.execute_activity(
                step,
                text,
                start_to_close_timeout=timedelta(seconds=120),
                heartbeat_timeout=timedelta(seconds=3),
            )


async def work(address):
    client = await Client.connect(address)
    # Without a cache, no other worker waits for the dead one's.
    await Worker(
        client,
        task_queue=QUEUE,
        workflows=[Chores],
        activities=[first, second],
        max_cached_workflows=0,
    ).run()


if __name__ == "__main__":
    kind, address, storage, _ = sys.argv[1:]
    if kind == "worker":
        asyncio.run(work(address))
    else:
        target = TemporalWorkflow(lambda: Client.connect(address), Chores.run, task_queue=QUEUE)
        serve(target, port=0, options=ServerOptions(storage=storage))
