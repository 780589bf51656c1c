"""A replica that tests stop and kill, and the target of workers."""

from __future__ import annotations

import asyncio
import os
import sys
from dataclasses import replace
from pathlib import Path

from a2a_adapters import (
    BearerTokens,
    InputRequired,
    Limits,
    OutboundPolicy,
    PushOptions,
    ServerOptions,
    TextDelta,
    serve,
)
from a2a_adapters.plugin import Adapter, AgentDescription, ResumeError

LIMITS = Limits(lease_seconds=2, sweep_seconds=0.5, run_seconds=7200, idle_seconds=7200)
TICK = 0.05


class Worker(Adapter):
    """Executes messages; only `count` can be resumed."""

    resumes = True

    def __init__(self, work: Path) -> None:
        self._work = work

    def describe(self):
        return AgentDescription(name="worker", description="Works, counts and asks.")

    def stream(self, request):
        work = "_later" if request.resuming else f"_{request.text.split()[0]}"
        return getattr(self, work)(request)

    def resume(self, request):
        if not request.text.startswith("count"):
            raise ResumeError("It was stopped.")
        return self._count(request)

    def _note(self, *words):
        with (self._work / "log").open("a") as file:
            file.write(" ".join(map(str, words)) + "\n")

    async def _until(self, name):
        while True:
            if (self._work / name).exists():
                return
            await asyncio.sleep(TICK)

    async def _tick(self, request):
        """Log periodically until stopped."""
        yield TextDelta("ticking ")
        while True:
            self._note("tick", os.getpid())
            await asyncio.sleep(TICK)

    async def _count(self, request):
        """Send three numbers, the last once the file `go` exists."""
        self._note("count", os.getpid())
        for number in range(2):
            yield TextDelta(f"{number} ")
        await self._until("go")
        yield TextDelta("2 ")

    async def _do(self, request):
        self._note("did", request.text)
        yield TextDelta(f"did {request.text}")

    async def _ask(self, request):
        """Ask with a generator that waits in this process."""
        answer = yield InputRequired("which?")
        yield TextDelta(f"{answer.text} in {os.getpid()}")

    async def _later(self, request):
        """Ask a question that any process can accept the answer to."""
        if request.resuming:
            yield TextDelta(f"{request.text} in {os.getpid()}")
        else:
            yield InputRequired("when?", durable=True)


class Remembering(Worker):
    """Repeats the conversation's history."""

    uses_history = True

    async def _recall(self, request):
        said = [*(turn.text for turn in request.history if turn.role == "user"), request.text]
        yield TextDelta("\n".join(said))


CALLERS = [f"caller-{number}" for number in range(40)]


def who(text: str) -> str:
    """Return the id of the process."""
    return f"{text} {os.getpid()}"


if __name__ == "__main__":
    storage, work, *lease = sys.argv[1:]
    limits = replace(LIMITS, lease_seconds=float(lease[0])) if lease else LIMITS
    options = ServerOptions(
        storage=storage,
        limits=limits,
        authentication=BearerTokens({name: name for name in ["ann", "bob", *CALLERS]}),
        push=PushOptions(outbound=OutboundPolicy(allow_private=True)),
    )
    serve(Remembering(Path(work)), port=0, options=options)
