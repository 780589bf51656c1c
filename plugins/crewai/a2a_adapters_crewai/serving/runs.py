"""All runs of one adapter: a bounded number at a time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable
from typing import Any, NoReturn, TypeAlias

from a2a_adapters import AgentEvent, AgentFailedError, AgentRequest
from a2a_adapters_crewai.serving.loop import SharedLoop
from a2a_adapters_crewai.serving.questions import install
from a2a_adapters_crewai.serving.run import Ended, Question, Run

Events: TypeAlias = AsyncGenerator[AgentEvent, AgentRequest | None]
Finish: TypeAlias = Callable[[Any], Iterable[AgentEvent]]
"""Turns a run's result into the last events."""

MAX_RUNS = 16
"""How many runs an adapter has at a time, unless told otherwise."""

MAX_ASKING = 200
"""How many runs wait for their callers in a thread each, unless told otherwise."""


class Runs:
    """Bounds the runs that work at once, and those that wait for their caller in a thread.

    Args:
        max_runs: How many may work; those that wait do not count.
        max_asking: How many may wait in a thread.
    """

    def __init__(self, max_runs: int, max_asking: int) -> None:
        self._slots = asyncio.Semaphore(max_runs)
        self._loop = SharedLoop(max_asking)

    def stop(self) -> None:
        """End the loop of the runs."""
        self._loop.stop()

    async def answer(self, run: Run, finish: Finish) -> Events:
        """Start a run and yield its events to the end."""
        slot = _Slot(self._slots)
        try:
            await slot.take()
            run.start(self._loop, install)
            while not isinstance(item := await run.next(), Ended):
                if isinstance(item, Question):
                    slot.leave()
                    reply = yield item.event
                    await slot.take()
                    item.reply.set_result(_answered(reply))
                else:
                    yield item
        finally:
            run.cancel()
            slot.leave()
        if item.error is not None:
            _raise(item.error)
        for event in finish(item.result):
            yield event


class _Slot:
    """The place of one run among those that work."""

    def __init__(self, slots: asyncio.Semaphore) -> None:
        self._slots = slots
        self._is_taken = False

    async def take(self) -> None:
        await self._slots.acquire()
        self._is_taken = True

    def leave(self) -> None:
        if self._is_taken:
            self._is_taken = False
            self._slots.release()


def _raise(error: BaseException) -> NoReturn:
    """Raise what ended a run: crewai's errors with their category, others as they are."""
    # crewai raises the same class for an agent's `max_execution_time` and for a slow model.
    if isinstance(error, TimeoutError) and "execution timed out after" in str(error):
        raise AgentFailedError("limit", "The agent reached its time limit.") from error
    raise error


def _answered(reply: AgentRequest | None) -> AgentRequest:
    if reply is None:
        raise RuntimeError("the run was continued without an answer")
    return reply
