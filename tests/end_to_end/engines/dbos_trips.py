"""A front or a worker of DBOS; tests kill it."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

from a2a_adapters_dbos import a2a_step, adapt, ask
from dbos import DBOS

from a2a_adapters import Limits, ServerOptions, serve
from tests.end_to_end.engines.journal import note

KIND, NAME, STORAGE, ENGINE, HOTELS, WORK = *sys.argv[1:6], Path(sys.argv[6])
LIMITS = Limits(sweep_seconds=1, run_seconds=7200, idle_seconds=7200)

DBOS(
    config={
        "name": "trips",
        "system_database_url": ENGINE.replace("postgresql:", "postgresql+psycopg:"),
        "executor_id": NAME,
        "application_version": "1",
        "log_level": "WARNING",
    }
)
hotels = a2a_step(HOTELS)


@DBOS.step()
async def begin(trip: str) -> None:
    """Begin a trip."""
    note(WORK, "begin", trip)


@DBOS.step()
async def pay(trip: str) -> None:
    """Pay a trip."""
    note(WORK, "pay", trip)


@DBOS.workflow()
async def book(trip: str) -> str:
    """Book a trip."""
    await begin(trip)
    city = (await ask("Where to?")).text
    hotel = (await hotels(trip)).text
    await pay(trip)
    return f"{hotel} in {city}"


if __name__ == "__main__":
    if KIND == "worker":
        DBOS.listen_queues(["trips"])
        DBOS.launch()
        DBOS.register_queue("trips", polling_interval_sec=0.1)
        print("A2A agent at http://none/,", file=sys.stderr, flush=True)  # noqa: T201 - it works now
        signal.pause()
    DBOS.listen_queues([])
    options = ServerOptions(storage=STORAGE, limits=LIMITS)
    serve(adapt(book, queue="trips"), port=0, options=options)
