"""Processes that share a database are killed and paused at random: what is lost or done twice?

python -m tests.replicas.chaos --tasks 10000
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

from tests.processes import launched
from tests.replicas.served import LIMITS
from tests.storage.postgresql import new_database

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
    """What became of a run.

    Attributes:
        tasks: The tasks of the messages, by the messages' ids.
        states: How many ended in which state, by what they were to do.
        interrupted: How many requests found nobody, or got an error, and were sent again.
        kills: How many processes were killed, and as many started.
        pauses: How many were paused beyond their lease.
        recovered: Seconds until nothing was being worked on any more.
        wrong: What must not be, in words.
    """

    tasks: dict[str, str] = field(default_factory=dict)
    states: Counter[str] = field(default_factory=Counter)
    interrupted: int = 0
    kills: int = 0
    pauses: int = 0
    recovered: float = 0
    wrong: list[str] = field(default_factory=list)


class Chaos:
    """One run: messages to all processes, while these are killed and paused.

    Args:
        folder: An empty folder.
        seed: Of what is random.
        tasks: How many messages are sent.
        blows: How many processes are killed or paused.
    """

    def __init__(self, folder: Path, seed: int, tasks: int, blows: int) -> None:
        self._random = random.Random(seed)
        self._folder = folder
        (folder / "go").touch()
        self._command = [sys.executable, "-m", "tests.replicas.served"]
        self._command += [new_database(), str(folder)]
        self._tasks = tasks
        self._blows = blows
        self._running: dict[str, subprocess.Popen[str]] = {}
        self.seen = Seen()

    async def run(self) -> Seen:
        """Do it all."""
        with ExitStack() as self._stack:
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
        if twice := [line for line, times in done.items() if times > 1]:
            self.seen.wrong.append(f"done twice: {twice}")
        return self.seen

    def _log(self) -> list[str]:
        return (self._folder / "log").read_text().splitlines()

    def _start(self) -> None:
        process, url = self._stack.enter_context(launched(self._command))
        self._running[url] = process

    async def _strike(self) -> None:
        """Kill or pause one process after the other."""
        for number in range(1, self._blows + 1):
            due = number * self._tasks // (self._blows + 1)
            while True:
                if len(self.seen.tasks) >= due:
                    break
                await asyncio.sleep(0.02)
            url = self._random.choice(list(self._running))
            if number % 2:
                self._running.pop(url).kill()
                self.seen.kills += 1
                await asyncio.to_thread(self._start)
            else:
                self._running[url].send_signal(signal.SIGSTOP)
                await asyncio.sleep(PAUSE)
                self._running[url].send_signal(signal.SIGCONT)
                self.seen.pauses += 1

    async def _send_all(self, count: int) -> None:
        for _ in range(count):
            message_id = str(UUID(int=self._random.getrandbits(128)))
            kind = self._random.choice(["do", "count"])
            self._look(message_id, kind, await self._sent(message_id, f"{kind} {message_id}"))

    async def _sent(self, message_id: str, text: str) -> dict[str, Any]:
        """Send a message to any process, again and again until it is answered."""
        message = {"messageId": message_id, "role": "ROLE_USER", "parts": [{"text": text}]}
        while True:
            try:
                answer = await self._call("SendMessage", {"message": message})
            except httpx.HTTPError:
                answer = {}
            if "result" in answer:
                task: dict[str, Any] = answer["result"]["task"]
                return task
            self.seen.interrupted += 1
            await asyncio.sleep(0.2)

    async def _call(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        url = self._random.choice(list(self._running))
        call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        answer: dict[str, Any] = (await self._http.post(url, json=call)).json()
        return answer

    def _look(self, message_id: str, kind: str, task: dict[str, Any]) -> None:
        """See to it that an answer is what it has to be."""
        self.seen.tasks[message_id] = task["id"]
        state = task["status"]["state"]
        self.seen.states[f"{kind} {state[len('TASK_STATE_') :].lower()}"] += 1
        parts = [part["text"] for a in task.get("artifacts", []) for part in a["parts"]]
        whole = COUNTED if kind == "count" else f"did do {message_id}"
        is_right = "".join(parts) == whole if state == "TASK_STATE_COMPLETED" else kind == "do"
        if state not in ENDED or not is_right:
            self.seen.wrong.append(f"{kind} is {state} with {parts}")

    async def _settled(self) -> dict[str, str]:
        """Return the state of every task as soon as none is being worked on."""
        while True:
            found: dict[str, str] = {}
            token = ""
            while True:
                page = await self._call("ListTasks", {"pageSize": 100, "pageToken": token})
                tasks = page["result"].get("tasks", [])
                found |= {task["id"]: task["status"]["state"] for task in tasks}
                if not (token := page["result"].get("nextPageToken", "")):
                    break
            if set(found.values()) <= ENDED:
                return found
            await asyncio.sleep(0.1)


def main() -> None:
    """Run one seed, print what was seen, and fail if anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=10_000)
    parser.add_argument("--blows", type=int, default=20)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--seconds", type=float, default=15, help="until nothing is stuck")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        chaos = Chaos(Path(name), arguments.seed, arguments.tasks, arguments.blows)
        seen = asyncio.run(chaos.run())
    if seen.recovered > arguments.seconds:
        seen.wrong.append(f"stuck for {seen.recovered:.1f} s")
    print(  # noqa: T201
        f"seed {arguments.seed}: {len(seen.tasks)} tasks {dict(sorted(seen.states.items()))}; "
        f"{seen.kills} processes killed, {seen.pauses} paused, {seen.interrupted} requests sent "
        f"again; at rest after {seen.recovered:.1f} s; {'; '.join(seen.wrong) or 'nothing wrong'}"
    )
    sys.exit(bool(seen.wrong))


if __name__ == "__main__":
    main()
