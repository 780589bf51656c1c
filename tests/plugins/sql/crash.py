"""Kill and restart a server at random moments, and report lost, stuck or repeated work.

python -m tests.plugins.sql.crash --tasks 1000 --seeds 20
"""

from __future__ import annotations

import argparse
import asyncio
import random
import socket
import sys
import tempfile
import time
from collections import Counter
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

import httpx

from a2a_adapters import RemoteAgent, RemoteAgentError, RemoteOptions, RemoteTaskError, TextDelta
from tests.plugins.sql.conftest import new_url
from tests.plugins.sql.crashing import COUNTED
from tests.support.processes import Server
from tests.support.warm import warm

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

V1 = {"A2A-Version": "1.0"}
SENDERS = 20
STREAMS = 4
KINDS = ("count", "tell")
"""Kinds of streams: one that can be resumed, and one that cannot."""
ENDED = {"TASK_STATE_COMPLETED", "TASK_STATE_FAILED"}
WAITS = "TASK_STATE_INPUT_REQUIRED"
PATIENT = RemoteOptions(retries=20, timeout=300)


@dataclass
class Seen:
    """Observations of a run.

    Attributes:
        sent: Texts of all messages by id.
        acked: Tasks of acknowledged messages by message id.
        recovered: Seconds until nothing was stuck after the second process listened.
        states: Number of tasks by final state.
        whole: Number of streams with all chunks, once and in order.
        resumed: Number of these that the kill interrupted.
        broken: Number of streams that cannot be resumed and ended with one error.
        wrong: Descriptions of violations.
    """

    sent: dict[str, str] = field(default_factory=dict)
    acked: dict[str, str] = field(default_factory=dict)
    recovered: float = 0
    states: Counter[str] = field(default_factory=Counter)
    whole: int = 0
    resumed: int = 0
    broken: int = 0
    wrong: list[str] = field(default_factory=list)


class Crash:
    """A run: messages and streams, a kill, a second process.

    Args:
        storage: The URL of an empty storage.
        folder: An empty folder.
        seed: Random seed.
        tasks: Number of messages.
    """

    def __init__(self, storage: str, folder: Path, seed: int, tasks: int) -> None:
        self._random = random.Random(seed)
        self._effects = folder / "effects"
        self._effects.touch()
        self._port = _free_port()
        command = warm("-m", "tests.plugins.sql.crashing")
        self._command = [*command, storage, str(self._effects), str(self._port)]
        self._tasks = tasks
        self._kill_after = self._random.randrange(tasks // 10, tasks * 9 // 10)
        self._is_killed = False
        self._hasty: set[str] = set()
        """Messages sent without waiting for the end of their tasks."""
        self._begun_streams = Counter[str]()
        """Number of active streams by kind."""
        self.seen = Seen()

    async def run(self) -> Seen:
        """Execute the run."""
        url = f"http://127.0.0.1:{self._port}"
        async with RemoteAgent(url, options=PATIENT) as agent:
            async with self._serving() as process, _http(url) as http:
                streams = [
                    asyncio.create_task(self._streams(agent, kind))
                    for kind in KINDS
                    for _ in range(STREAMS)
                ]
                await self._send_all(http, process.kill)
            async with self._serving():
                started = time.monotonic()
                async with _http(url) as http:
                    await self._settled(http)
                    self.seen.recovered = time.monotonic() - started
                    await asyncio.gather(*streams)
                    await self._send_again(http)
        done = Counter(self._effects.read_text().split())
        self._expect(not (twice := {m for m, n in done.items() if n > 1}), f"done twice: {twice}")
        lost = {m for m in self.seen.acked.keys() - self._hasty - done.keys() if self._works(m)}
        self._expect(not lost, f"reported but not done: {lost}")
        return self.seen

    @asynccontextmanager
    async def _serving(self) -> AsyncGenerator[Server]:
        """Run a server until it is killed."""
        process = Server(self._command, None)
        try:
            while not await _listens(self._port):
                assert process.poll() is None, process.ended()
                await asyncio.sleep(0.05)
            yield process
        finally:
            process.close()

    def _expect(self, holds: bool, otherwise: str) -> None:
        if not holds:
            self.seen.wrong.append(otherwise)

    async def _send_all(self, http: httpx.AsyncClient, kill: Callable[[], None]) -> None:
        """Send messages continuously, and kill the server while it streams."""
        is_due = asyncio.Event()

        async def sender() -> None:
            for _ in range(self._tasks // SENDERS):
                message_id = str(UUID(int=self._random.getrandbits(128)))
                kind = "ask" if self._random.random() < 0.1 else "work"
                self.seen.sent[message_id] = f"{kind} {message_id}"
                if self._random.random() < 0.5:
                    self._hasty.add(message_id)
                with suppress(httpx.HTTPError):
                    task = await self._send(http, message_id)
                    self.seen.acked[message_id] = task["id"]
                if len(self.seen.acked) >= self._kill_after:
                    is_due.set()

        async def killer() -> None:
            await is_due.wait()
            while True:
                if all(self._begun_streams[kind] for kind in KINDS):
                    break
                await asyncio.sleep(0.001)
            self._is_killed = True
            kill()

        await asyncio.gather(killer(), *(sender() for _ in range(SENDERS)))

    def _works(self, message_id: str) -> bool:
        return self.seen.sent[message_id].startswith("work")

    async def _send(self, http: httpx.AsyncClient, message_id: str) -> dict[str, Any]:
        """Send a message with the same text each time, so that a repeat is the same request."""
        parts = [{"text": self.seen.sent[message_id]}]
        message = {"messageId": message_id, "role": "ROLE_USER", "parts": parts}
        configuration = {"returnImmediately": message_id in self._hasty}
        params = {"message": message, "configuration": configuration}
        answer = await _rpc(http, "SendMessage", params)
        task: dict[str, Any] = answer["task"]
        return task

    async def _streams(self, agent: RemoteAgent, kind: str) -> None:
        """Stream answers until the server has been killed."""
        while not self._is_killed:
            streamed, has_failed = "", False
            began_before = not self._is_killed
            try:
                async for event in agent.stream(f"{kind} {self._random.random()}"):
                    if isinstance(event, TextDelta):
                        self._begun_streams[kind] += not streamed
                        streamed += event.text
            except RemoteTaskError:
                has_failed = True
            except RemoteAgentError as error:
                self._expect(False, f"a stream ended by {error!r}")
                return
            finally:
                self._begun_streams[kind] -= bool(streamed)
            was_cut_off = began_before and self._is_killed
            if has_failed:
                self.seen.broken += 1
                self._expect(kind == "tell", "what can be gone on with failed")
                self._expect(COUNTED.startswith(streamed), f"{kind} was heard as {streamed!r}")
            else:
                self.seen.whole += 1
                self.seen.resumed += was_cut_off and kind == "count"
                self._expect(streamed == COUNTED, f"{kind} was heard as {streamed!r}")

    async def _settled(self, http: httpx.AsyncClient) -> None:
        """Wait until no task is running, and check the acknowledged ones."""
        while True:
            found = await _all_tasks(http)
            if set(found.values()) <= {*ENDED, WAITS}:
                break
            await asyncio.sleep(0.1)
        lost = set(self.seen.acked.values()) - set(found)
        self._expect(not lost, f"lost: {lost}")
        for message_id in self.seen.acked.keys() - self._hasty:
            expected = "TASK_STATE_COMPLETED" if self._works(message_id) else WAITS
            state = found.get(self.seen.acked[message_id])
            self._expect(state == expected, f"message {message_id} is {state}")
        self.seen.states = Counter(
            found[task] for task in self.seen.acked.values() if task in found
        )

    async def _send_again(self, http: httpx.AsyncClient) -> None:
        """Send every message again; those already started return their task."""
        left = list(self.seen.sent)

        async def sender() -> None:
            while left:
                message_id = left.pop()
                task = await self._send(http, message_id)
                known = self.seen.acked.get(message_id, task["id"])
                self._expect(task["id"] == known, f"message {message_id} has two tasks")
                is_at_rest = message_id in self._hasty or task["status"]["state"] in {*ENDED, WAITS}
                self._expect(is_at_rest, f"message {message_id} is answered while it runs")

        await asyncio.gather(*(sender() for _ in range(SENDERS)))


@asynccontextmanager
async def _http(url: str) -> AsyncGenerator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=url, headers=V1, timeout=120) as http:
        yield http


async def _rpc(http: httpx.AsyncClient, method: str, params: dict[str, Any]) -> dict[str, Any]:
    call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    result: dict[str, Any] = (await http.post("/", json=call)).json()["result"]
    return result


async def _all_tasks(http: httpx.AsyncClient) -> dict[str, str]:
    """Return the state of every task."""
    found: dict[str, str] = {}
    token = ""
    while True:
        page = await _rpc(http, "ListTasks", {"pageSize": 100, "pageToken": token})
        found |= {task["id"]: task["status"]["state"] for task in page.get("tasks", [])}
        if not (token := page.get("nextPageToken", "")):
            return found


async def _listens(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.close()
    return True


def _free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port: int = listening.getsockname()[1]
        return port


def main() -> None:
    """Run the seeds on each engine, and fail on any violation."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=1000)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=15, help="until nothing is stuck")
    parser.add_argument("--engines", nargs="+", default=["sqlite", "postgresql"])
    arguments = parser.parse_args()
    is_wrong = False
    for engine in arguments.engines:
        for seed in range(1, arguments.seeds + 1):
            with tempfile.TemporaryDirectory() as name:
                folder = Path(name)
                crash = Crash(new_url(engine, folder), folder, seed, arguments.tasks)
                seen = asyncio.run(crash.run())
            if seen.recovered > arguments.seconds:
                seen.wrong.append(f"stuck for {seen.recovered:.1f} s")
            is_wrong = is_wrong or bool(seen.wrong)
            states = {name[len("TASK_STATE_") :].lower(): n for name, n in seen.states.items()}
            print(  # noqa: T201
                f"{engine} seed {seed}: {len(seen.sent)} sent, {len(seen.acked)} acknowledged "
                f"{states}, at rest after {seen.recovered:.1f} s; streams: {seen.whole} whole, of "
                f"which {seen.resumed} over the kill, {seen.broken} ended by an error; "
                f"{'; '.join(seen.wrong) or 'nothing wrong'}",
                flush=True,
            )
    sys.exit(is_wrong)


if __name__ == "__main__":
    main()
