"""A server that is killed while it works, streams and asks. It logs its effects to a file."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from a2a_adapters import InputRequired, Limits, ServerOptions, TextDelta, serve
from a2a_adapters.plugin import Adapter, AgentDescription, ResumeError

CHUNKS = 40
COUNTED = "".join(f"{n} " for n in range(CHUNKS))


class Crashing(Adapter):
    """Executes the first word of a message; only `count` can be resumed."""

    resumes = True

    def __init__(self, effects: Path) -> None:
        self._effects = effects

    def describe(self):
        return AgentDescription(name="crashing", description="Works, streams and asks.")

    def stream(self, request):
        match request.text.split()[0]:
            case "work":
                return self._work(request)
            case "ask":
                return self._ask(request)
            case _:
                return self._count()

    def resume(self, request):
        if not request.text.startswith("count"):
            raise ResumeError("The agent was stopped.")
        return self._count()

    async def _work(self, request):
        with self._effects.open("a") as file:
            file.write(f"{request.message.message_id}\n")
        await asyncio.sleep(0.02)
        yield TextDelta(f"did {request.text}")

    async def _ask(self, request):
        if request.resuming:
            yield TextDelta(f"heard {request.text}")
        else:
            yield InputRequired("which?", durable=True)

    async def _count(self):
        for number in range(CHUNKS):
            yield TextDelta(f"{number} ")
            await asyncio.sleep(0.03)


if __name__ == "__main__":
    storage, effects, port = sys.argv[1:]
    options = ServerOptions(storage=storage, limits=Limits(runs=200))
    serve(Crashing(Path(effects)), port=int(port), options=options)
