"""Runs a seed: plays stories while servers are killed, then judges them."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter, defaultdict
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from tests.blackbox import journal
from tests.blackbox.client import Client, RefusedError
from tests.blackbox.intruder import NOT_FOUND, Intruder
from tests.blackbox.judge import judge
from tests.blackbox.player import WAITS, WORKS, Player, state_of, text_of
from tests.blackbox.receiver import Receiver
from tests.blackbox.servers import AGENTS, OWNERS, Servers
from tests.blackbox.stories import Story, written

CALM_SECONDS = 60.0
"""Time limit of stories after the last killed process has been replaced."""
NOTIFY_SECONDS = 30.0


@dataclass
class Report:
    """Result of a seed.

    Attributes:
        states: Number of tasks by final state.
        kills: Number of killed processes.
        seconds: Duration of the run.
        trespasses: Number of attempts to use the tasks of other owners.
        wrong: Violations, as kind, task and detail.
    """

    states: Counter[str] = field(default_factory=Counter)
    kills: int = 0
    trespasses: int = 0
    seconds: float = 0
    wrong: list[tuple[str, str, str]] = field(default_factory=list)


class Run:
    """Plays the stories of a seed.

    Args:
        folder: An empty folder.
        storage: The URL of an empty storage.
        seed: Random seed.
        tasks: Number of stories.
        kills: Number of processes to kill.
        processes: Number of concurrent processes.
    """

    def __init__(
        self, folder: Path, storage: str, seed: int, *, tasks: int, kills: int, processes: int
    ) -> None:
        self._chance = random.Random(seed)
        self._journal = f"{folder}/journal.db"
        journal.create(self._journal)
        self._stories = written(seed, tasks)
        self._kills = kills
        self._servers = Servers(folder, storage, processes)
        self._receiver = Receiver(seed)
        self._intruders: list[Intruder] = []
        self._phase = 0
        self._next_phase = asyncio.Condition()

    async def play(self) -> Report:
        """Execute the run."""
        started = time.monotonic()
        limits = httpx.Limits(max_connections=None)
        wrong: list[tuple[str, str, str]] = []
        try:
            await self._servers.start_all()
            async with (
                self._receiver.listening(),
                httpx.AsyncClient(timeout=30, limits=limits, trust_env=False) as self._http,
            ):
                plays = [asyncio.create_task(self._play(s, n)) for n, s in enumerate(self._stories)]
                await self._strike()
                await asyncio.wait(plays, timeout=CALM_SECONDS)
                await self._stop(plays)
                wrong += await self._checked()
                await self._notified()
        finally:
            await self._servers.stop_all()
            self._servers.keep_logs()
        return Report(
            Counter(story.state for story in self._stories),
            len(self._servers.killed),
            sum(intruder.tries for intruder in self._intruders),
            time.monotonic() - started,
            wrong + self._judged(),
        )

    def _client(self, agent: str, owner: str, chance: random.Random) -> Client:
        servers = self._servers
        return Client(self._http, lambda: servers.some_url(chance), agent, owner, chance)

    async def _play(self, story: Story, number: int) -> None:
        """Play a story in its phase; stories are spread evenly between the kills."""
        phase = number * (self._kills + 1) // len(self._stories)
        async with self._next_phase:
            await self._next_phase.wait_for(lambda: self._phase >= phase)
        chance = random.Random(story.seed)
        client = self._client(story.agent, story.owner, chance)
        [other] = {*OWNERS} - {story.owner}
        stranger = self._client(story.agent, other, random.Random(story.key))
        intruder = Intruder(story, stranger, self._receiver.url)
        self._intruders.append(intruder)
        has_ended = asyncio.Event()
        intruding = asyncio.create_task(intruder.intrude(has_ended))
        try:
            await Player(story, client, self._receiver.url).play()
            has_ended.set()
            await intruding
        finally:
            intruding.cancel()

    async def _strike(self) -> None:
        """Kill processes at random moments, sometimes just after their start."""
        for _ in range(self._kills):
            is_early = self._chance.random() < 0.4
            await asyncio.sleep(
                self._chance.uniform(0, 0.9) if is_early else self._chance.uniform(0.6, 2)
            )
            await self._servers.kill(self._chance.choice(list(self._servers.urls)))
            async with self._next_phase:
                self._phase += 1
                self._next_phase.notify_all()
            await self._servers.start()

    async def _stop(self, plays: list[asyncio.Task[None]]) -> None:
        for story, play in zip(self._stories, plays, strict=True):
            if not play.done():
                story.wrong.append(("stuck", f"still {story.state or 'not acknowledged'}"))
                play.cancel()
        for play in plays:
            with suppress(asyncio.CancelledError):
                await play

    async def _checked(self) -> list[tuple[str, str, str]]:
        """Read every task again at any process, and search for unknown tasks."""
        wrong = []
        for owner in OWNERS:
            for agent in AGENTS:
                client = self._client(agent, owner, self._chance)
                stories = [s for s in self._stories if (s.agent, s.owner) == (agent, owner)]
                for story in stories:
                    if story.task_id:
                        await self._read_again(client, story)
                known = {story.task_id for story in stories}
                unknown = await _all_tasks(client) - known
                wrong += [
                    ("twice", f"{agent} of {owner}", f"also began {task}") for task in unknown
                ]
        return wrong

    async def _read_again(self, client: Client, story: Story) -> None:
        try:
            task = await client.call("GetTask", {"id": story.task_id})
        except RefusedError as error:
            story.wrong.append(("lost" if error.code == NOT_FOUND else "refused", str(error)))
            return
        now = state_of(task), text_of(task)
        if now != (story.state, story.text) and not story.wrong:
            detail = f"observed {(story.state, story.text)}, and later {now}"
            story.wrong.append(("differs", detail))

    async def _notified(self) -> None:
        """Wait until the receivers have got the terminal states, with a time limit."""
        ended = [s for s in self._stories if s.notified and s.state not in {*WORKS, WAITS, ""}]
        with suppress(TimeoutError):
            async with asyncio.timeout(NOTIFY_SECONDS):
                while True:
                    if all(self._receiver.states[s.key][-1:] == [s.state] for s in ended):
                        break
                    await asyncio.sleep(0.1)

    def _judged(self) -> list[tuple[str, str, str]]:
        effects = defaultdict(list)
        for effect in journal.read(self._journal):
            effects[effect.key].append(effect)
        return [
            (kind, f"{story.key} {story.task_id}", detail)
            for story in self._stories
            for kind, detail in judge(
                story, effects[story.key], self._servers.killed, self._receiver
            )
        ]


async def _all_tasks(client: Client) -> set[str]:
    found: set[str] = set()
    token = ""
    while True:
        page = await client.call("ListTasks", {"pageSize": 100, "pageToken": token})
        found |= {task["id"] for task in page.get("tasks", [])}
        if not (token := page.get("nextPageToken", "")):
            return found
