"""The conversations of `models.py` over every API: `python benchmarks/conversations.py`.

Over the other bindings and APIs, in two processes at one port, and read by the clients of this
project and of a2a-sdk.
"""

from __future__ import annotations

import sys
from collections import defaultdict

import load
import models
import uvloop
from processes import free_port, interpreter, start
from report import CONVERSATIONS, Conversations, Figures, conversations_table
from storages import postgresql, url_of

TOKENS = 200
WARM_UP, CONNECTIONS = 200, 40


def conversations(figures: Figures, rounds: int) -> None:
    """Measure every row of the table in interleaved rounds."""
    if not interpreter("every API"):
        print("not measured: APIs; `make tests` installs them", file=sys.stderr)
        return
    with postgresql() as database:
        for _ in range(rounds):
            for row in CONVERSATIONS:
                storage = url_of("postgresql", "", database)
                for measure, value in measured(row, storage).items():
                    figures[f"talk {measure}", row.label].append(value)


def measured(row: Conversations, storage: str) -> dict[str, float]:
    """Measure a row once."""
    grpc = free_port()
    with start(row.server, "talk", GRPC_PORT=str(grpc), STORAGE=storage) as server:
        # Also waits for both of two processes.
        uvloop.run(load.send(server.port, WARM_UP, CONNECTIONS, load.COMPLETED, text="1"))
        port = grpc if row.api == "gRPC" else server.port
        python = interpreter("every API")
        return models.measured(server, row.streams, TOKENS, api=row.api, port=port, python=python)


def main() -> None:
    figures: Figures = defaultdict(list)
    conversations(figures, rounds=3)
    print(conversations_table(figures))


if __name__ == "__main__":
    main()
