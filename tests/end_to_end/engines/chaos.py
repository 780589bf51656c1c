"""Kill servers and workers of an engine at random, and report losses and repetitions.

python -m tests.end_to_end.engines.chaos dbos --tasks 1000 --kills 20
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

import httpx

from tests.end_to_end.engines import journal
from tests.support.postgresql import new_database
from tests.support.processes import launched
from tests.support.requests import V1
from tests.support.warm import warm

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.processes import Server

EACH = 3
"""Number of servers, and of workers."""
CLIENTS = 10
STEPS = ["begin", "hotel", "pay"]
ENDED = {"TASK_STATE_COMPLETED", "TASK_STATE_FAILED", "TASK_STATE_CANCELED"}
STUCK_SECONDS = 300.0
PAUSE = 0.5


@contextmanager
def dbos() -> Iterator[str]:
    """Yield the database of DBOS."""
    yield new_database()


@contextmanager
def temporal() -> Iterator[str]:
    """Run a server of Temporal; yield its address."""
    from tests.plugins.temporal.support import server

    with server() as address:
        yield address


ENGINES = {"dbos": dbos, "temporal": temporal}


@dataclass
class Seen:
    """Observations of a run.

    Attributes:
        done: Number of completed tasks.
        kills: Number of killed processes by kind.
        again: Number of requests that failed and were sent again, by reason.
        repeated: Number of steps that were repeated because they were interrupted.
        longest: The longest time from a message to the end of its task, in seconds.
        seconds: The time of the run.
        wrong: Descriptions of violations.
    """

    done: int = 0
    kills: Counter[str] = field(default_factory=Counter)
    again: Counter[str] = field(default_factory=Counter)
    repeated: int = 0
    longest: float = 0
    seconds: float = 0
    wrong: list[str] = field(default_factory=list)


class Chaos:
    """A run: clients that begin trips and answer their questions, while processes are killed.

    Args:
        engine: A name of `ENGINES`.
        work: An empty folder.
        tasks: Number of trips.
        kills: Number of kills.
        seed: Random seed.
        immediately: Whether clients ask for the task at once, and do not wait for its question.
    """

    def __init__(
        self,
        engine: str,
        work: Path,
        *,
        tasks: int,
        kills: int,
        seed: int = 1,
        immediately: bool = False,
    ) -> None:
        self._engine = engine
        self._work = work
        self._random = random.Random(seed)
        self._trips = [str(UUID(int=self._random.getrandbits(128))) for _ in range(tasks)]
        self._kills = kills
        self._immediately = immediately
        self._running: dict[tuple[str, str], tuple[Server, str]] = {}
        self._begun = 0
        self.seen = Seen()

    async def run(self) -> Seen:
        """Execute the run."""
        started = time.monotonic()
        with ExitStack() as self._stack:
            engine = self._stack.enter_context(ENGINES[self._engine]())
            hotels = warm("-m", "tests.end_to_end.engines.hotels", str(self._work))
            _, url = self._stack.enter_context(launched(hotels))
            self._arguments = [new_database(), engine, url, str(self._work)]
            for number in range(EACH):
                for kind in ("worker", "front"):
                    await asyncio.to_thread(self._start, kind, f"{kind}-{number}")
            async with httpx.AsyncClient(headers=V1, timeout=60) as self._http:
                killing = asyncio.create_task(self._kill())
                shares = [self._trips[client::CLIENTS] for client in range(CLIENTS)]
                await asyncio.gather(*map(self._book_all, shares))
                await killing
        self.seen.seconds = time.monotonic() - started
        self._judge()
        return self.seen

    def _start(self, kind: str, name: str) -> None:
        module = f"tests.end_to_end.engines.{self._engine}_trips"
        command = warm("-m", module, kind, name, *self._arguments)
        self._running[kind, name] = self._stack.enter_context(launched(command))

    async def _kill(self) -> None:
        """Kill and replace a process whenever a share of the trips has begun."""
        for number in range(1, self._kills + 1):
            while self._begun < number * len(self._trips) // (self._kills + 1):  # noqa: ASYNC110 - of the clients
                await asyncio.sleep(PAUSE)
            kind, name = self._random.choice(list(self._running))
            process, _ = self._running.pop((kind, name))
            process.kill()
            self.seen.kills[kind] += 1
            await asyncio.to_thread(self._start, kind, name)

    async def _book_all(self, trips: list[str]) -> None:
        for trip in trips:
            self._begun += 1
            started = time.monotonic()
            try:
                async with asyncio.timeout(STUCK_SECONDS):
                    task = await self._book(trip)
            except TimeoutError:
                self.seen.wrong.append(f"{trip} is stuck")
                continue
            self.seen.longest = max(self.seen.longest, time.monotonic() - started)
            texts = [part["text"] for a in task.get("artifacts", []) for part in a["parts"]]
            if "".join(texts) == f"Hotel {trip} in Paris":
                self.seen.done += 1
            else:
                self.seen.wrong.append(f"{trip} is {task['status']} with {texts}")

    async def _book(self, trip: str) -> dict[str, Any]:
        """Begin a trip, answer its question, and return its task when it has ended."""
        task = await self._send(f"{trip}-1", trip)
        asked = await self._until(task["id"], {"TASK_STATE_INPUT_REQUIRED", *ENDED})
        if asked["status"]["state"] in ENDED:
            return asked
        await self._send(f"{trip}-2", "Paris", task["id"])
        return await self._until(task["id"], ENDED)

    async def _send(self, message_id: str, text: str, task_id: str = "") -> dict[str, Any]:
        message = {"messageId": message_id, "role": "ROLE_USER", "parts": [{"text": text}]}
        if task_id:
            message["taskId"] = task_id
        configuration = {"returnImmediately": self._immediately}
        sent = await self._call("SendMessage", {"message": message, "configuration": configuration})
        task: dict[str, Any] = sent["task"]
        return task

    async def _until(self, task_id: str, states: set[str]) -> dict[str, Any]:
        while True:
            task = await self._call("GetTask", {"id": task_id})
            if task["status"]["state"] in states:
                return task
            await asyncio.sleep(PAUSE)

    async def _call(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Call servers until one returns a result."""
        call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        while True:
            fronts = [url for (kind, _), (_, url) in self._running.items() if kind == "front"]
            try:
                response = await self._http.post(self._random.choice(fronts), json=call)
                answer = response.json()
            except (httpx.HTTPError, ValueError) as error:
                reason = type(error).__name__
            else:
                if "result" in answer:
                    result: dict[str, Any] = answer["result"]
                    return result
                reason = f"{response.status_code} {answer['error']['message']}"
            self.seen.again[reason] += 1
            await asyncio.sleep(PAUSE)

    def _judge(self) -> None:
        """Compare the journal with what must have happened."""
        found = journal.read(self._work)
        for trip in self._trips:
            steps = found.get(trip, [])
            kept = [step for number, step in enumerate(steps) if step not in steps[:number]]
            in_order = sorted(steps, key=STEPS.index)
            if kept != STEPS or steps != in_order:  # a finished step came after a later one
                self.seen.wrong.append(f"{trip} did {steps}")
            elif steps.count("hotel") > 1:
                self.seen.wrong.append(f"{trip} called the agent {steps.count('hotel')} times")
            self.seen.repeated += len(steps) - len(kept)


def main() -> None:
    """Run, print the observations, and fail on any violation."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("engine", choices=ENGINES)
    parser.add_argument("--tasks", type=int, default=1_000)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--immediately", action="store_true", help="do not wait for questions")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        run = Chaos(
            given.engine,
            Path(name),
            tasks=given.tasks,
            kills=given.kills,
            seed=given.seed,
            immediately=given.immediately,
        )
        seen = asyncio.run(run.run())
    print(  # noqa: T201
        f"{given.engine}, seed {given.seed}: {seen.done} of {given.tasks} tasks with a question "
        f"completed in {seen.seconds:.0f} s; {seen.kills['front']} servers and "
        f"{seen.kills['worker']} workers killed, {dict(seen.again)} requests sent again, "
        f"{seen.repeated} interrupted steps repeated; the slowest task took {seen.longest:.1f} s; "
        f"{'; '.join(seen.wrong) or 'nothing wrong'}"
    )
    sys.exit(bool(seen.wrong))


if __name__ == "__main__":
    main()
