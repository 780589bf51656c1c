"""Kill and suspend replicas and restart their database, and report losses.

python -m tests.plugins.sql.replicas.chaos --tasks 10000 --seeds 10
"""

from __future__ import annotations

import argparse
import asyncio
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

import httpx

from tests.plugins.sql.replicas.served import LIMITS
from tests.support.postgresql import new_database_at, server_of_its_own
from tests.support.processes import launched
from tests.support.warm import warm

if TYPE_CHECKING:
    import subprocess

HEADERS = {"A2A-Version": "1.0", "Authorization": "Bearer ann"}
REPLICAS = 3
SENDERS = 10
ENDED = {"TASK_STATE_COMPLETED", "TASK_STATE_FAILED"}
COUNTED = "0 1 2 "
PAUSE = 2.5 * LIMITS.lease_seconds


@dataclass
class Seen:
    """Observations of a run.

    Attributes:
        tasks: Tasks by message id.
        states: Number of tasks by kind and final state.
        interrupted: Number of requests that failed and were repeated.
        kills: Number of killed and replaced processes.
        pauses: Number of processes suspended beyond their lease.
        restarts: Number of database restarts.
        reported: Work reported by the agent.
        recovered: Seconds until no task was running.
        wrong: Descriptions of violations.
    """

    tasks: dict[str, str] = field(default_factory=dict)
    states: Counter[str] = field(default_factory=Counter)
    interrupted: int = 0
    kills: int = 0
    pauses: int = 0
    restarts: int = 0
    recovered: float = 0
    reported: set[str] = field(default_factory=set)
    wrong: list[str] = field(default_factory=list)


class Chaos:
    """A run: messages to all processes under failures of processes and database.

    Args:
        folder: An empty folder.
        seed: Random seed.
        tasks: Number of messages.
        blows: Number of failures: kills, suspensions and database restarts in turn.
    """

    def __init__(self, folder: Path, seed: int, tasks: int, blows: int) -> None:
        self._random = random.Random(seed)
        self._folder = folder
        (folder / "go").touch()
        self._command = warm("-m", "tests.plugins.sql.replicas.served")
        self._database = server_of_its_own()
        self._command += [new_database_at(self._database), str(folder)]
        self._tasks = tasks
        self._blows = blows
        self._running: dict[str, subprocess.Popen[str]] = {}
        self.seen = Seen()

    async def run(self) -> Seen:
        """Execute the run."""
        with ExitStack() as self._stack:
            self._stack.callback(self._database.stop)
            for _ in range(REPLICAS):
                self._start()
            async with httpx.AsyncClient(headers=HEADERS, timeout=120) as self._http:
                blows = asyncio.create_task(self._strike())
                share = self._tasks // SENDERS
                await asyncio.gather(*(self._send_all(share) for _ in range(SENDERS)))
                await blows
                started = time.monotonic()
                found = await self._settled()
                self.seen.recovered = time.monotonic() - started
        if lost := set(self.seen.tasks.values()) - set(found):
            self.seen.wrong.append(f"lost: {lost}")
        if (failed := self.seen.states["do failed"]) > self._blows * SENDERS:
            self.seen.wrong.append(f"{failed} failed, more than those that were hit")
        done = Counter(line for line in self._log() if line.startswith("did"))
        if self.seen.reported - done.keys():
            self.seen.wrong.append(f"reported but not done: {self.seen.reported - done.keys()}")
        if twice := [line for line, times in done.items() if times > 1]:
            self.seen.wrong.append(f"done twice: {twice}")
        return self.seen

    def _log(self) -> list[str]:
        return (self._folder / "log").read_text().splitlines()

    def _start(self) -> None:
        process, url = self._stack.enter_context(launched(self._command))
        self._running[url] = process

    async def _strike(self) -> None:
        """Kill a process, suspend one, restart the database, and repeat."""
        for number in range(1, self._blows + 1):
            due = number * self._tasks // (self._blows + 1)
            while True:
                if len(self.seen.tasks) >= due:
                    break
                await asyncio.sleep(0.02)
            url = self._random.choice(list(self._running))
            match number % 3:
                case 1:
                    self._running.pop(url).kill()
                    self.seen.kills += 1
                    await asyncio.to_thread(self._start)
                case 2:
                    self._running[url].send_signal(signal.SIGSTOP)
                    await asyncio.sleep(PAUSE)
                    self._running[url].send_signal(signal.SIGCONT)
                    self.seen.pauses += 1
                case _:
                    await asyncio.to_thread(self._database.stop)
                    await asyncio.to_thread(self._database.ensure_postgres_running)
                    self.seen.restarts += 1

    async def _send_all(self, count: int) -> None:
        for _ in range(count):
            message_id = str(UUID(int=self._random.getrandbits(128)))
            kind = self._random.choice(["do", "count"])
            self._look(message_id, kind, await self._sent(message_id, f"{kind} {message_id}"))

    async def _sent(self, message_id: str, text: str) -> dict[str, Any]:
        """Repeat a message until it is answered; return its task."""
        message = {"messageId": message_id, "role": "ROLE_USER", "parts": [{"text": text}]}
        task: dict[str, Any] = (await self._call("SendMessage", {"message": message}))["task"]
        return task

    async def _call(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Call processes until one returns a result."""
        call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        while True:
            url = self._random.choice(list(self._running))
            try:
                answer = (await self._http.post(url, json=call)).json()
            except httpx.HTTPError:
                answer = {}
            if "result" in answer:
                result: dict[str, Any] = answer["result"]
                return result
            self.seen.interrupted += 1
            await asyncio.sleep(0.2)

    def _look(self, message_id: str, kind: str, task: dict[str, Any]) -> None:
        """Check an answer."""
        self.seen.tasks[message_id] = task["id"]
        state = task["status"]["state"]
        self.seen.states[f"{kind} {state[len('TASK_STATE_') :].lower()}"] += 1
        parts = [part["text"] for a in task.get("artifacts", []) for part in a["parts"]]
        whole = COUNTED if kind == "count" else f"did do {message_id}"
        if kind == "do" and state == "TASK_STATE_COMPLETED":
            self.seen.reported.add(whole)
        is_right = "".join(parts) == whole if state == "TASK_STATE_COMPLETED" else kind == "do"
        if state not in ENDED or not is_right:
            self.seen.wrong.append(f"{kind} is {state} with {parts}")

    async def _settled(self) -> dict[str, str]:
        """Return the state of every task once none is running."""
        while True:
            found: dict[str, str] = {}
            token = ""
            while True:
                page = await self._call("ListTasks", {"pageSize": 100, "pageToken": token})
                tasks = page.get("tasks", [])
                found |= {task["id"]: task["status"]["state"] for task in tasks}
                if not (token := page.get("nextPageToken", "")):
                    break
            if set(found.values()) <= ENDED:
                return found
            await asyncio.sleep(0.1)


def main() -> None:
    """Run the seeds, print the observations, and fail on any violation."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=10_000)
    parser.add_argument("--blows", type=int, default=20)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--first", type=int, default=1, help="the first seed")
    parser.add_argument("--seconds", type=float, default=15, help="until nothing is stuck")
    arguments = parser.parse_args()
    is_wrong = False
    for seed in range(arguments.first, arguments.first + arguments.seeds):
        with tempfile.TemporaryDirectory() as name:
            chaos = Chaos(Path(name), seed, arguments.tasks, arguments.blows)
            seen = asyncio.run(chaos.run())
        if seen.recovered > arguments.seconds:
            seen.wrong.append(f"stuck for {seen.recovered:.1f} s")
        is_wrong = is_wrong or bool(seen.wrong)
        print(  # noqa: T201
            f"seed {seed}: {len(seen.tasks)} tasks {dict(sorted(seen.states.items()))}; "
            f"{seen.kills} processes killed, {seen.pauses} paused, the database restarted "
            f"{seen.restarts} times, {seen.interrupted} requests sent again; at rest after "
            f"{seen.recovered:.1f} s; {'; '.join(seen.wrong) or 'nothing wrong'}",
            flush=True,
        )
    sys.exit(is_wrong)


if __name__ == "__main__":
    main()
