"""A front, or a worker of a workflow that runs an agent of a framework; tests kill both."""

from __future__ import annotations

import asyncio
import sys
from importlib import import_module

from a2a_adapters_temporal import TemporalWorkflow
from temporalio.client import Client
from temporalio.worker import Worker

from a2a_adapters import ServerOptions, serve

KIND, FRAMEWORK, ADDRESS, STORAGE = sys.argv[1:]
QUEUE = f"{FRAMEWORK}-agents"

made = import_module(f"tests.plugins.temporal.durable.{FRAMEWORK}")


async def connect():
    return await Client.connect(ADDRESS, plugins=made.PLUGINS)


async def work():
    # Without a cache, no other worker waits for the dead one's.
    await Worker(
        await connect(),
        task_queue=QUEUE,
        workflows=[made.Chores],
        activities=made.ACTIVITIES,
        max_cached_workflows=0,
    ).run()


if __name__ == "__main__":
    if KIND == "worker":
        asyncio.run(work())
    else:
        target = TemporalWorkflow(connect, made.Chores.run, task_queue=QUEUE)
        serve(target, port=0, options=ServerOptions(storage=STORAGE))
