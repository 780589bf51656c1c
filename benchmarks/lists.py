"""Measures `ListTasks` on a million tasks: `python benchmarks/lists.py [sqlite] [TASKS]`.

The tasks are copies of one, made by the database itself. Prints milliseconds over HTTP for
sequential requests and for 30 concurrent ones, compared with `GetTask`, which reads one row by its
key. The client and the database run on the same cores.
"""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import sys
import tempfile
import time
from statistics import median, quantiles

import httpx
import psycopg
from a2a.utils.task import ListTasksCursor, encode_list_tasks_cursor
from processes import start
from storages import postgresql, url_of

REQUESTS, AT_ONCE = 300, 30
COPY = """
INSERT INTO a2a_tasks (agent, owner, id, context, state, changed, version, previous, process, epoch,
  owner_name, body)
WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {count})
SELECT agent, owner, id || '-' || n, id || '-' || n % 1000, state,
  changed - n * CAST(1000000 AS BIGINT), version, previous, process, epoch, owner_name, body
FROM a2a_tasks, numbers
"""


def fill(url: str, count: int) -> int:
    """Copy the only task, and return the time of its last change."""
    file = url.removeprefix("sqlite:///")
    connect = sqlite3.connect(file) if file != url else psycopg.connect(url)
    with contextlib.closing(connect) as connection:
        [(changed,)] = connection.execute("SELECT changed FROM a2a_tasks").fetchall()
        connection.execute(COPY.format(count=count))
        connection.commit()
    if file == url:
        with psycopg.connect(url, autocommit=True) as connection:  # as the server does eventually
            connection.execute("VACUUM ANALYZE a2a_tasks")
    return changed


async def measure(port: int, url: str, count: int) -> None:
    headers = {"A2A-Version": "1.0"}
    base = f"http://127.0.0.1:{port}"
    async with httpx.AsyncClient(base_url=base, headers=headers, timeout=60) as http:

        async def call(method: str, params: object) -> httpx.Response:
            body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
            return await http.post("/", json=body)

        async def timed(params: dict[str, object]) -> tuple[float, httpx.Response]:
            began = time.perf_counter()
            response = await call("GetTask" if "id" in params else "ListTasks", params)
            return 1000 * (time.perf_counter() - began), response

        message = {"messageId": "message-1", "role": "ROLE_USER", "parts": [{"text": "a"}]}
        sent = await call("SendMessage", {"message": message})
        task_id = sent.json()["result"]["task"]["id"]
        changed = await asyncio.to_thread(fill, url, count)
        middle = ListTasksCursor(changed - count // 2 * 1_000_000, task_id)
        lists: dict[str, dict[str, object]] = {
            "GetTask": {"id": task_id},
            "first page": {},
            "of 100": {"pageSize": 100},
            "a middle page": {"pageToken": encode_list_tasks_cursor(middle)},
            "by state": {"status": "TASK_STATE_COMPLETED"},
            "of a state without tasks": {"status": "TASK_STATE_WORKING"},
            "of a conversation": {"contextId": f"{task_id}-7"},
        }
        for name, params in lists.items():
            cold, response = await timed(params)
            assert response.status_code == 200, response.text
            took = [(await timed(params))[0] for _ in range(REQUESTS)]
            total = (await timed(params))[1].json()["result"].get("totalSize", "-")
            p99 = quantiles(took, n=100)[98]
            print(
                f"{name}: first {cold:.1f} ms, then p50 {median(took):.1f}, p99 {p99:.1f}; "
                f"total {total}"
            )
        for name, params in lists.items():
            at_once = await asyncio.gather(*(timed(params) for _ in range(AT_ONCE)))
            answered = sum(response.status_code == 200 for _, response in at_once)
            slowest = max(ms for ms, _ in at_once)
            print(f"{AT_ONCE} at once, {name}: {answered} answered, the last in {slowest:.0f} ms")


def main() -> None:
    engine = "sqlite" if "sqlite" in sys.argv else "postgresql"
    count = next((int(each) for each in sys.argv[1:] if each.isdigit()), 1_000_000)
    with tempfile.TemporaryDirectory() as folder, postgresql() as server:
        url = url_of(engine, folder, server)
        with start("stored", "echo", STORAGE=url) as process:
            asyncio.run(measure(process.port, url, count))


if __name__ == "__main__":
    main()
