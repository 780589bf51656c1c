"""Agents whose workflows run on workers of DBOS, see dbos.yaml; replace the workflow with yours."""

from __future__ import annotations

import os
import signal
import socket

from a2a_adapters_dbos import adapt, ask, emit
from dbos import DBOS

DBOS(
    config={
        "name": "agents",
        "system_database_url": os.environ["DBOS_DATABASE"],
        "executor_id": socket.gethostname(),  # the same after a restart
        "application_version": "1",  # change it if running workflows cannot continue with new code
    }
)


@DBOS.workflow()
async def book(text: str) -> None:
    """Book a journey."""
    city = (await ask("Where to?")).text
    await emit(f"{text}: you travel to {city}.")


agent = adapt(book, queue="agents")

if __name__ == "__main__":  # a worker
    DBOS.listen_queues(["agents"])
    DBOS.launch()
    # Workflows that wait for an answer count, too.
    DBOS.register_queue("agents", worker_concurrency=10_000, polling_interval_sec=0.1)
    signal.sigwait({signal.SIGTERM, signal.SIGINT})
    DBOS.destroy(workflow_completion_timeout_sec=30)
else:  # a server
    DBOS.listen_queues([])
