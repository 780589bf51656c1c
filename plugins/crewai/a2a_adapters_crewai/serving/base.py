"""Options, and the base class of the adapters of crews, flows and agents.

All runs of an adapter are in an event loop of their own, a bounded number at a time: crewai may
block it, and crews, agents and flows with custom code run in threads, where flows wait for their
caller. Neither may stop the server, or take the threads it needs.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from a2a_adapters import AgentEvent, AgentRequest, Rejected
from a2a_adapters.concurrency import PerLoop
from a2a_adapters.plugin import (
    Adapter,
    AgentDescription,
    AgentFailedError,
    ThreadPool,
    check_fields,
)
from a2a_adapters_crewai.serving.crew_run import CrewRun, Ended, Question, refuse_calls_after_runs
from a2a_adapters_crewai.serving.guardrails import as_blocked, has_text_hooks, is_guarded
from a2a_adapters_crewai.serving.input import ReadInputs, RequestInputs
from a2a_adapters_crewai.serving.output import OnTask, RunEvents
from a2a_adapters_crewai.serving.questions import install

if TYPE_CHECKING:
    from a2a_adapters import OutboundPolicy
    from a2a_adapters_crewai.serving.crew_run import Work
    from a2a_adapters_crewai.serving.targets import Target

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options of `adapt`, for the constructors of the adapters."""

    input: ReadInputs | None = None
    text_key: str | None = None
    history_key: str | None = None
    task_outputs: bool = False
    tokens: bool = False
    stream_methods: Collection[str] = ()
    max_runs: int = MAX_RUNS
    max_asking: int = MAX_ASKING
    shared_memory: bool = False
    fetch: OutboundPolicy | None = None

    def __post_init__(self) -> None:
        check_fields(self, {"max_runs"})


class RunsAdapter(Adapter):
    """Gives each run an object of its own, and all of them one event loop, in a thread.

    A loop for each run would break asynchronous clients, which belong to the loop of their first
    use, and be slow: threads that compete for the interpreter delay each other.

    Args:
        target: Makes the objects.
        options: The options.
        description: The description for the card.
        read: Reads the inputs of a request; None if the target has no inputs.
        on_task: Makes the artifact of a finished task, for the option `task_outputs`.
    """

    _tool_data = True
    """Whether progress shows arguments and results of tools, if nothing checks a text."""

    def __init__(
        self,
        target: Target,
        options: Options,
        description: AgentDescription,
        read: ReadInputs | None = None,
        on_task: OnTask | None = None,
    ) -> None:
        self.fetch = options.fetch
        self.holds_text = is_guarded(target.example) or has_text_hooks()
        self.uses_history = not isinstance(read, RequestInputs) or bool(read.history_key)
        self._new = target.new
        self._tokens = options.tokens
        self._on_task = on_task if options.task_outputs else None
        self._description = description
        self._slots = PerLoop(partial(asyncio.Semaphore, options.max_runs))
        self._waiting = threading.BoundedSemaphore(options.max_asking)
        self._max_threads = options.max_asking + _WORKING_THREADS
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopped = asyncio.Event()
        refuse_calls_after_runs()

    def describe(self) -> AgentDescription:
        """Describe the target by its public texts."""
        return self._description

    async def aclose(self) -> None:
        """Cancel the runs and stop their event loop; a run that waits for a slot starts another."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._stopped.set)
            self._loop = None

    async def _run(self, request: AgentRequest, work: Work, refuse: Refuse | None = None) -> Events:
        """Run `work`, which returns the answer or a durable question, and yield its events.

        While the run waits for its caller, it does not count.
        """
        if refuse is not None and (refusal := await refuse()):
            yield refusal
            return
        events = RunEvents(
            request,
            is_held=self.holds_text,
            tokens=self._tokens,
            tool_data=self._tool_data,
            on_task=self._on_task,
        )
        run = CrewRun(request, work, events, self._waiting)
        proceed = partial(self._start_run, run)
        try:
            while True:
                async with self._slots():
                    proceed()
                    while not isinstance(item := await run.next(), Question | Ended):
                        yield item
                if isinstance(item, Ended):
                    break
                proceed = partial(item.answer, (yield item.event))
        finally:
            run.cancel()
        if (error := item.error) is not None:
            if blocked := as_blocked(error):
                raise blocked from error
            # crewai raises the same class for an agent's `max_execution_time` and a slow model.
            if isinstance(error, TimeoutError) and "execution timed out after" in str(error):
                raise AgentFailedError("limit", "The agent reached its time limit.") from error
            raise error
        for event in events.finish(item.result):
            yield event

    def _start_run(self, run: CrewRun) -> None:
        run.start(self._running_loop(), install)

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
