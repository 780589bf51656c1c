"""The servers of a run: ordinary `a2a-adapters serve` processes that are killed and restarted."""

from __future__ import annotations

import asyncio
import os
import random
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from tests.blackbox import journal
from tests.support.processes import Server, launched
from tests.support.warm import warm

AGENTS = {
    "answer": "functions:answer",
    "stream": "functions:stream",
    "ask": "functions:ask",
    "book": "functions:book",
    "graph": "graphs:graph",
    "kept": "graphs:kept",
    "fan": "graphs:fan",
    "review": "graphs:review",
    "team": "teams:team",
}
OWNERS = ("ann", "bob")
PACKAGE = "tests.blackbox.agents"


@dataclass
class Servers:
    """Processes that serve the same agents from the same storage.

    Args:
        folder: A folder for their files.
        storage: URL of the storage.
        count: Number of processes.

    Attributes:
        urls: URLs of the live processes by name.
        killed: Kill times, as `time.time()`, by name.
    """

    folder: Path
    storage: str
    count: int
    urls: dict[str, str] = field(default_factory=dict)
    killed: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._stack = ExitStack()
        self._processes: dict[str, Server] = {}
        self._started = 0
        tokens = self.folder / "tokens"
        tokens.touch(0o600)
        tokens.write_text("".join(f"{owner}: {owner}-token\n" for owner in OWNERS))
        targets = [f"{name}={PACKAGE}.{target}" for name, target in AGENTS.items()]
        options = ["--port", "0", "--storage", self.storage, "--push-private"]
        options += ["--bearer-token-file", str(tokens), "--no-console"]
        self._command = warm("-m", "a2a_adapters", "serve", *targets, *options)

    async def start_all(self) -> None:
        """Start all processes; the first one creates the tables of the graphs' checkpointer."""
        await self.start()
        await asyncio.gather(*(self.start() for _ in range(self.count - 1)))

    async def start(self) -> None:
        """Start a process and wait until it listens."""
        self._started += 1
        name = f"process-{self._started}"
        own = self.storage if self.storage.startswith("postgresql:") else f"{self.folder}/kept.db"
        environment = {
            **os.environ,
            journal.FILE: f"{self.folder}/journal.db",
            journal.PROCESS: name,
            "BLACKBOX_CHECKPOINTS": own,
        }
        context = launched(self._command, environment)
        process, url = await asyncio.to_thread(self._stack.enter_context, context)
        self._processes[name] = process
        self.urls[name] = url.removesuffix(f"/agents/{next(iter(AGENTS))}")

    async def kill(self, name: str) -> None:
        """Kill a process with SIGKILL and wait for its end."""
        del self.urls[name]
        process = self._processes[name]
        process.kill()
        self.killed[name] = time.time()
        await asyncio.to_thread(process.ended)

    def some_url(self, chance: random.Random) -> str | None:
        """Return the URL of any live process, None if there is none."""
        return chance.choice(list(self.urls.values())) if self.urls else None

    async def stop_all(self) -> None:
        """Stop the remaining processes."""
        await asyncio.to_thread(self._stack.close)

    def keep_logs(self) -> None:
        """Write the logs of the ended processes to the folder."""
        for name, process in self._processes.items():
            (self.folder / f"{name}.log").write_text(process.ended())
