"""No agent step, tool or model call starts after a cancellation."""

from __future__ import annotations

import asyncio

import pytest
from a2a_adapters_crewai import adapt
from crewai import Crew
from crewai.flow import Flow, start
from crewai.tools import BaseTool

from tests.plugins.crewai.support import (
    Scripted,
    agent,
    answer,
    ask,
    crew,
    gates,
    request,
    run,
    task,
    tool_call,
)
from tests.support.outliving import Blocking, check_it_learns_of_cancellation


class Note(BaseTool):
    name: str = "note"
    description: str = "Take a note."
    noted: list = []  # noqa: RUF012 - pydantic copies it

    def _run(self, text: str) -> str:
        self.noted.append(text)
        return "noted"


async def cancel_in_a_call(model, adapter) -> None:
    """Cancel during the first model call, then let the call end."""
    asked = request("cats")
    running = asyncio.create_task(run(adapter, asked))
    assert await asyncio.to_thread(model.calling.wait, 10)
    asked.cancelled.set()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    model.calling.clear()
    model.gate.set()


async def test_no_call_and_no_task_follows_a_cancellation():
    model = Scripted(tool_call("note", '{"text": "x"}'), "Final Answer: done", **gates())
    tool = Note()
    writer = agent(model, tools=[tool])
    target = Crew(agents=[writer], tasks=[task(writer), task(writer)])
    adapter = adapt(target)
    await cancel_in_a_call(model, adapter)
    await adapter.aclose()  # does not wait, but ends the loop with all its threads
    other = adapt(crew("Final Answer: other"))
    assert answer(await ask(other, "dogs")) == "other"
    assert (len(model.seen), tool.noted) == (1, [])


async def test_concurrent_tasks_stop_too():
    model = Scripted(tool_call("note", '{"text": "x"}'), "Final Answer: done", **gates())
    tool = Note()
    one, two = agent(model, tools=[tool]), agent(Scripted("Final Answer: quick"))
    tasks = [task(one, async_execution=True), task(two)]
    adapter = adapt(Crew(agents=[one, two], tasks=tasks))
    await cancel_in_a_call(model, adapter)
    await ask(adapt(crew("Final Answer: other")), "dogs")
    assert (len(model.seen), tool.noted) == (1, [])


async def test_a_thread_of_a_flow_is_stopped_at_its_next_call(caplog):
    model = Scripted("Final Answer: one", "Final Answer: two", **gates())
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()

    class Outer(Flow):
        suppress_flow_events: bool = True

        @start()
        def blocking(self):
            try:
                for topic in ("cats", "dogs"):
                    writer = agent(model, max_retry_limit=0)
                    inner = Crew(agents=[writer], tasks=[task(writer)])
                    inner.kickoff(inputs={"topic": topic})
            finally:
                loop.call_soon_threadsafe(ended.set)

    await cancel_in_a_call(model, adapt(Outer))
    await ended.wait()
    assert len(model.seen) == 1
    assert "still running after its end" in caplog.text


async def test_a_conversation_of_one_adapter_continues():
    model = Scripted("Final Answer: one", **gates())
    writer = agent(model)
    adapter = adapt(Crew(agents=[writer], tasks=[task(writer)]))
    await cancel_in_a_call(model, adapter)
    assert answer(await ask(adapter, "dogs")) == "one"


async def test_calls_outside_of_served_runs_are_unaffected():
    await ask(adapt(crew("Final Answer: served")), "cats")
    own = crew("Final Answer: own")
    assert (await own.akickoff(inputs={"topic": "dogs"})).raw == "own"


@pytest.mark.parametrize("planning", [False, True])
async def test_a_model_that_blocks_a_thread_is_logged(planning, caplog):
    blocking = Blocking()
    target = crew(lambda _: blocking())
    target.planning, target.planning_llm = planning, Scripted(lambda _: blocking())
    await check_it_learns_of_cancellation(target, blocking, caplog)
