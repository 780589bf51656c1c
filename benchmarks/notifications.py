"""Measures the rate of notifications of one PostgreSQL: `python benchmarks/notifications.py`.

Several connections commit one `NOTIFY` after another, as the bus between server processes does
for each batch; every listener receives all of them. For comparison, the same connections commit
rows.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from statistics import median, quantiles

import psycopg
from storages import postgresql

SECONDS = 3.0
PAYLOAD = "x" * 1000
BYTES_OF_TIME = 20


async def commits(url: str, statement: str, seconds: float, took: list[float]) -> int:
    """Commit a statement repeatedly; return the number of commits."""
    count = 0
    async with await psycopg.AsyncConnection.connect(url) as connection:
        end = time.perf_counter() + seconds
        while (began := time.perf_counter()) < end:
            stamp = f"{time.perf_counter():<{BYTES_OF_TIME}.9f}"
            await connection.execute(statement, [stamp + PAYLOAD])
            await connection.commit()
            took.append(time.perf_counter() - began)
            count += 1
    return count


async def listen(url: str, ready: asyncio.Barrier, lags: list[float]) -> None:
    """Record the delay of each notification."""
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
        await connection.execute("LISTEN bench")
        await ready.wait()
        async for notification in connection.notifies():
            late = time.perf_counter() - float(notification.payload[:BYTES_OF_TIME])
            lags.append(late)


async def measured(url: str, senders: int, listeners: int, seconds: float) -> str:
    """Return a row of the table."""
    lags: list[float] = []
    took: list[float] = []
    ready = asyncio.Barrier(listeners + 1)
    async with asyncio.TaskGroup() as group:
        hearing = [group.create_task(listen(url, ready, lags)) for _ in range(listeners)]
        await ready.wait()
        notify = "SELECT pg_notify('bench', %s)" if listeners else "INSERT INTO bench VALUES (%s)"
        sending = [commits(url, notify, seconds, took) for _ in range(senders)]
        count = sum(await asyncio.gather(*sending))
        for each in hearing:
            each.cancel()
    late = "-"
    if lags:
        late = f"{median(lags) * 1e3:.1f}, {quantiles(lags, n=100)[-1] * 1e3:.1f} ms"
    name = listeners or "none (a row instead)"
    return f"| {senders} | {name} | {count / seconds:,.0f} | {late} |"


async def main(seconds: float) -> None:
    with postgresql() as url:
        async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
            await connection.execute("CREATE TABLE bench (body text)")
        print("| senders | listeners | commits/s | delay p50, p99 |\n|---:|---:|---:|---:|")
        for senders in (1, 8, 32):
            for listeners in (0, 1, 10, 50):
                print(await measured(url, senders, listeners, seconds), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=SECONDS)
    asyncio.run(main(parser.parse_args().seconds))
