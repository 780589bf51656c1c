"""All runs of one adapter: in an event loop of their own, a bounded number at a time.

crewai calls guardrails, planners and callbacks in the event loop, and flows wait for their
caller in threads. Neither may stop the server, or take the threads it needs.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import TYPE_CHECKING, TypeAlias

from a2a_adapters import AgentEvent, AgentFailedError, AgentRequest, Rejected, ThreadPool
from a2a_adapters_crewai.serving.questions import install
from a2a_adapters_crewai.serving.run import Ended, Question, Run

if TYPE_CHECKING:
    from a2a_adapters_crewai.serving.output import RunEvents
    from a2a_adapters_crewai.serving.run import Work

Events: TypeAlias = AsyncGenerator[AgentEvent, AgentRequest | None]
Refuse: TypeAlias = Callable[[], Awaitable[Rejected | None]]
"""Returns the reason not to start a run, if there is one."""

MAX_RUNS = 16
"""Default for the maximum number of concurrent runs of an adapter."""

MAX_ASKING = 200
"""Default for the maximum number of threads in which runs wait for their callers."""

_THREAD = "a2a-adapters-crewai"
_WORKING_THREADS = 256
"""The maximum number of threads that do not wait for callers. Each is created when needed."""


class Runs:
    """Starts the runs in one event loop, in a thread.

    A loop for each run would break asynchronous clients, which belong to the loop of their first
    use, and be slow: threads that compete for the interpreter delay each other.

    Args:
        max_runs: Maximum number of working runs; those that wait for their callers do not count.
        max_asking: Maximum number of threads that wait for callers.
    """

    def __init__(self, max_runs: int, max_asking: int) -> None:
        self._slots = asyncio.Semaphore(max_runs)
        self._waiting = threading.BoundedSemaphore(max_asking)
        self._max_threads = max_asking + _WORKING_THREADS
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopped = asyncio.Event()

    async def answer(
        self, request: AgentRequest, work: Work, events: RunEvents, refuse: Refuse | None
    ) -> Events:
        """Start a run and yield its events to the end, unless it is refused."""
        if refuse is not None and (refusal := await refuse()):
            yield refusal
            return
        run = Run(request, work, events, self._waiting)
        question: Question | None = None
        reply: AgentRequest | None = None
        try:
            while True:
                async with self._slots:
                    if question is None:
                        run.start(self._running_loop(), install)
                    else:
                        question.answer(reply)
                    while not isinstance(item := await run.next(), Question | Ended):
                        yield item
                if isinstance(item, Ended):
                    break
                question = item
                reply = yield question.event
        finally:
            run.cancel()
        if (error := item.error) is not None:
            # crewai raises the same class for an agent's `max_execution_time` and a slow model.
            if isinstance(error, TimeoutError) and "execution timed out after" in str(error):
                raise AgentFailedError("limit", "The agent reached its time limit.") from error
            raise error
        for event in events.finish(item.result):
            yield event

    def stop(self) -> None:
        """Cancel the runs and stop their event loop."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._stopped.set)
            self._loop = None

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        """Return the event loop of the runs, which is started for the first one."""
        if self._loop is None:
            self._stopped = asyncio.Event()
            self._loop = loop = asyncio.new_event_loop()
            loop.set_default_executor(ThreadPool(self._max_threads, _THREAD))
            serve = threading.Thread(target=self._serve, args=(loop,), name=_THREAD, daemon=True)
            serve.start()
        return self._loop

    def _serve(self, loop: asyncio.AbstractEventLoop) -> None:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            runner.run(self._stopped.wait())
