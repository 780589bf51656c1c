"""Agents that lose the connection in the middle of a stream."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from tests.support.servers.sdk import pieces
from tests.support.servers.wire import COMPLETED, WORKING, Broken, Call, TaskEvents, rpc_app, sse


class BreakingStream:
    """Closes the connection after some events of a stream, and continues for subscribers.

    Its answer to `ping` is a Task, the chunks `pong`, `: pi` and `ng`, and a completed status.
    While disconnected it produces one more event, which only the first Task of a subscription
    contains. Subscribing to a completed task fails with -32004; `GetTask` has the result.

    Args:
        after: Number of events before the break, not counting a subscription's Task.
        breaks: Number of broken streams; the next one is complete.
        finishes: Whether the task completes when its first stream breaks.
        torn: Whether it breaks in the middle of an event.
    """

    def __init__(
        self, after: int, *, breaks: int = 1, finishes: bool = False, torn: bool = False
    ) -> None:
        self.calls: list[Call] = []
        self._after = after
        self._breaks = breaks
        self._finishes = finishes
        self._torn = torn
        self._runs: dict[str, _Run] = {}
        self._app = rpc_app(self._answer)

    @property
    def methods(self) -> list[str]:
        """The called methods in order."""
        return [call.method for call in self.calls]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)

    async def _answer(self, call: Call) -> Response:
        self.calls.append(call)
        if "message" in call.params:
            run = _Run(call)
            self._runs[run.task_events.task_id] = run
            if not call.streams:
                run.said = len(run.events)
                return JSONResponse(call.result(run.task()))
            return self._stream(call, run, [])
        run = self._runs.get(call.params["id"])
        if run is None:
            return JSONResponse(call.error(-32001, "Task not found"))
        if call.method == "GetTask":
            return JSONResponse(call.result(run.task()["task"]))
        if run.done:
            return JSONResponse(call.error(-32004, "The task is in a terminal state"))
        return self._stream(call, run, [run.task()])

    def _stream(self, call: Call, run: _Run, first: list[dict[str, Any]]) -> Response:
        if self._breaks == 0:
            return sse(_results(call, first + run.say(len(run.events))))
        self._breaks -= 1
        events = _results(call, first + run.say(self._after))
        missed = run.say(len(run.events) if self._finishes else 1)
        return Broken(events, torn=call.result(missed[0]) if self._torn and missed else None)


class _Run:
    """A task: all its events, of which some have been sent."""

    def __init__(self, call: Call) -> None:
        self.task_events = TaskEvents.answering(call)
        self.chunks = pieces(f"pong: {call.text}")
        self.events = [
            self.task_events.task(WORKING),
            *(self.task_events.chunk(text, append=n > 0) for n, text in enumerate(self.chunks)),
            self.task_events.status(COMPLETED),
        ]
        self.said = 0

    @property
    def done(self) -> bool:
        """Whether everything has been sent."""
        return self.said >= len(self.events)

    def say(self, count: int) -> list[dict[str, Any]]:
        """Return the next events."""
        start, self.said = self.said, self.said + count
        return self.events[start : self.said]

    def task(self) -> dict[str, Any]:
        """Return the current task."""
        state = COMPLETED if self.done else WORKING
        return self.task_events.task(state, *self.chunks[: max(self.said - 1, 0)])


async def _results(call: Call, events: list[dict[str, Any]]) -> AsyncIterator[dict[str, Any]]:
    for event in events:
        yield call.result(event)
