"""A monitored agent in a separate thread."""

from __future__ import annotations

import asyncio
import gc
import logging
import threading
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

from a2a_adapters import InputRequired, ServerOptions, TextDelta, build_app
from a2a_adapters.plugin import Adapter, AgentDescription
from a2a_adapters.testing import running
from tests.support.requests import grpc_port

T = TypeVar("T")


class Fuzzed(Adapter):
    """Echoes, or asks on request."""

    def describe(self):
        return AgentDescription(name="echo", description="Repeats.", input_modes=["*/*"])

    async def stream(self, request):
        yield TextDelta(request.text or "nothing")
        if request.text == "ask" and not request.resuming:
            yield InputRequired("what?", durable=True)


class Errors(logging.Handler):
    """Collects errors logged anywhere in the server."""

    def __init__(self):
        super().__init__(logging.ERROR)
        self.seen = []

    def emit(self, record):
        self.seen.append(self.format(record))


class Served:
    """Serves the agent over HTTP and gRPC while it is entered."""

    def __init__(self):
        self.errors = Errors()
        self.app = build_app(
            Fuzzed(), dialects=["openai", "ag-ui"], options=ServerOptions(grpc_port=0)
        )
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()))

    def __enter__(self):
        logging.getLogger().addHandler(self.errors)
        logging.getLogger("uvicorn.error").addHandler(self.errors)
        self._thread.start()
        assert self._ready.wait(60)
        logging.getLogger("uvicorn.error").setLevel(
            logging.ERROR
        )  # it warns about every invalid line
        return self

    def __exit__(self, *_):
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()
        logging.getLogger("uvicorn.error").removeHandler(self.errors)
        logging.getLogger().removeHandler(self.errors)

    async def _serve(self):
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        async with running(self.app) as url:
            self.port = int(url.rpartition(":")[2])
            self.grpc_port = grpc_port(self.app)
            self._ready.set()
            await self._stop.wait()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the server's loop."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(60)

    def holds(self) -> dict[str, int]:
        """Return the server's resources; an increase is a leak."""
        gc.collect()
        handles = len(list(Path("/proc/self/fd").iterdir()))
        return {**self.run(self._count()), "file handles": handles}

    async def _count(self):
        [agent] = self.app.state.agents
        live = agent.runtime.live.all()
        return {"live tasks": len(live), "asyncio tasks": len(asyncio.all_tasks())}
