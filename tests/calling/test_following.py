"""Following the tasks of agents whose subscriptions repeat or leave out text."""

from __future__ import annotations

import pytest
from starlette.responses import JSONResponse

from a2a_adapters import RemoteAgent, TextDelta
from a2a_adapters.testing import running
from tests.support.servers.wire import COMPLETED, WORKING, TaskEvents, rpc_app, sse


class Subscribed:
    """Answers with `pong`. A subscription begins with some events and ends with the last chunk.

    Args:
        first: Returns the first events of a subscription.
    """

    def __init__(self, first):
        self._first = first
        self._is_done = False
        self.app = rpc_app(self._answer)

    async def _answer(self, call):
        if call.method == "SendMessage":
            self._events = TaskEvents.answering(call)
            return JSONResponse(call.result(self._events.task(WORKING)))
        if call.method == "GetTask":
            state, texts = (COMPLETED, ["po", "ng"]) if self._is_done else (WORKING, [])
            return JSONResponse(call.result(self._events.task(state, *texts)["task"]))
        if self._is_done:
            return JSONResponse(call.error(-32004, "The task is over"))
        self._is_done = True
        events = [*self._first(self._events), self._events.chunk("ng")]
        return sse(self._results(call, [*events, self._events.status(COMPLETED)]))

    async def _results(self, call, events):
        for event in events:
            yield call.result(event)


BEGINNINGS = {
    "complete": lambda events: [events.task(WORKING, "po")],
    "the chunk is in the task already": lambda events: [events.task(WORKING, "po", "ng")],
    "no task": lambda events: [],
    "no task, a status": lambda events: [events.status(WORKING)],
    "the whole artifact once more": lambda events: [
        events.task(WORKING, "po", "ng"),
        events.chunk("po", append=False),
    ],
}


@pytest.mark.parametrize("beginning", BEGINNINGS)
async def test_text_is_neither_repeated_nor_lost(beginning):
    server = Subscribed(BEGINNINGS[beginning])
    async with running(server.app) as url, RemoteAgent(url) as agent:
        task = await agent.start("ping")
        *news, reply = [event async for event in task.events()]
    assert "".join(event.text for event in news if isinstance(event, TextDelta)) == "pong"
    assert reply.text == "pong"
