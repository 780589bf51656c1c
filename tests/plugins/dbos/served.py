"""Workflows in processes that tests kill."""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path

from a2a_adapters_dbos import adapt, ask, emit
from dbos import DBOS

from a2a_adapters import ServerOptions, serve

KIND, STORAGE, DATABASE, EXECUTOR, WORK = *sys.argv[1:5], Path(sys.argv[5])

DBOS(
    config={
        "name": "served",
        "system_database_url": DATABASE,
        "executor_id": EXECUTOR,
        "application_version": "1",
        "notification_listener_polling_interval_sec": 0.05,
    }
)


def note(name, text):
    with (WORK / name).open("a") as file:
        file.write(f"{text}\n")


@DBOS.step()
async def first(text):
    await emit("one ")
    note("steps", text)


@DBOS.step()
async def second(text):
    await emit("tw")  # again when it is repeated
    note("begun", text)
    while not (WORK / "go").exists():  # noqa: ASYNC110 - of another process
        await asyncio.sleep(0.01)
    await emit("o")


@DBOS.workflow()
async def work(text: str) -> None:
    """Work in two steps."""
    await first(text)
    await second(text)


@DBOS.step()
async def booked(city):
    note("booked", city)


@DBOS.workflow()
async def book(text: str) -> str:
    """Book a journey."""
    await emit("Well, ")
    await first(text)
    city = (await ask("Where to?")).text
    await booked(city)
    day = (await ask(f"When to {city}?")).text
    return f"{text}: {city} on {day}"


@DBOS.workflow()
async def chores(text: str) -> None:
    """Ask, and work in two steps."""
    await ask("Ready?")
    await first(text)
    await second(text)


if __name__ == "__main__":
    if KIND == "worker":
        DBOS.listen_queues(["agents"])
        DBOS.launch()
        DBOS.register_queue("agents", polling_interval_sec=0.1)
        signal.pause()
    target = {"work": work, "book": book, "front": adapt(chores, queue="agents")}[KIND]
    if KIND == "front":
        DBOS.listen_queues([])
    serve(target, port=0, options=ServerOptions(storage=STORAGE))
