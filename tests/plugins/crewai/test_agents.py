"""Agents outside of crews, a crew with a real model, and the categories of failures."""

from __future__ import annotations

import asyncio
import importlib.util
import time
from pathlib import Path

import pytest
from a2a.types import TaskState
from a2a_adapters_crewai import adapt
from crewai import LLM, Crew

from a2a_adapters import Data, File, InvalidInputError, Progress, Text, build_app
from a2a_adapters.plugin import Turn
from a2a_adapters.testing import answer_of, connect, running, send, stream, user_message
from tests.plugins.crewai.support import Scripted, agent, answer, ask, request, task
from tests.support.openai_endpoint import REFUSING, SECRET, STATUSES, UNREACHABLE, said_of

EXAMPLES = Path(__file__).parents[3] / "examples"


def echo(prompt):
    """Answer with the last thing that was asked."""
    return f"Final Answer: {prompt.rpartition('Current Task: ')[2].splitlines()[0]}"


async def test_many_callers_at_once():
    adapter = adapt(agent(Scripted(echo)))
    texts = [f"text {n}" for n in range(16)]
    runs = await asyncio.gather(*(ask(adapter, text) for text in texts))
    assert [answer(events) for events in runs] == texts


async def test_the_agent_receives_the_conversation_and_data():
    model = Scripted("Final Answer: ok")
    history = (Turn("user", [Text("I am Ann")]), Turn("agent", [Text("Hello Ann")]))
    await ask(adapt(agent(model)), Data({"n": 3}), history=history)
    positions = [model.seen[0].index(text) for text in ("I am Ann", "Hello Ann", '{"n":3}')]
    assert positions == sorted(positions)


async def test_conversations_are_isolated():
    model = Scripted("Final Answer: ok")
    async with (
        running(build_app(agent(model))) as url,
        connect(url, user="ann") as ann,
        connect(url, user="bob") as bob,
    ):
        await send(ann, user_message("I am Ann", context_id="one"))
        await send(bob, user_message("who am I?", context_id="one"))
        await send(ann, user_message("who am I?", context_id="one"))
    assert ["I am Ann" in prompt for prompt in model.seen] == [True, False, True]


async def test_it_streams_its_answer_once_over_the_wire():
    async with running(build_app(agent(Scripted(echo)))) as url, connect(url) as client:
        events = await stream(client, user_message("hello"))
        task = await send(client, user_message("hello"))
    assert str(events).count('"hello"') == 2  # the question and the answer
    assert (task.status.state, answer_of(task)) == (TaskState.TASK_STATE_COMPLETED, "hello")


async def test_a_failure_discloses_nothing():
    def fail(_):
        raise RuntimeError("hunter2")

    async with running(build_app(agent(Scripted(fail)))) as url, connect(url) as client:
        task = await send(client, user_message("hello"))
    assert task.status.state == TaskState.TASK_STATE_FAILED
    assert "hunter2" not in str(task)


async def test_tokens_are_reported_on_request():
    events = await ask(adapt(agent(Scripted(echo)), tokens=True), "cats", wants_progress=True)
    assert any(isinstance(e, Progress) and "token" in (e.data or {}) for e in events)


def test_files_are_refused_without_crewais_support(monkeypatch):
    monkeypatch.setattr("a2a_adapters_crewai.serving.input.takes_files", lambda: False)
    with pytest.raises(InvalidInputError, match="no files"):
        adapt(agent(Scripted(echo))).stream(request("hi", File(content=b"x")))


@pytest.mark.model
async def test_a_crew_on_a_real_model(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    address = importlib.import_module("local_model").local_model()
    model = LLM(model="openai/local", base_url=address, api_key="none", max_tokens=16)
    writer = agent(model, role="Poet", goal="Write", backstory="A poet")
    target = Crew(agents=[writer], tasks=[task(writer, "Write a line about {topic}.")])
    async with running(build_app(target)) as url, connect(url) as client:
        done = await send(client, user_message("the sea"))
    assert done.status.state == TaskState.TASK_STATE_COMPLETED
    assert answer_of(done).strip()
    usage = done.metadata["usage"]
    assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"] > 0


def model(address):
    return LLM(model="openai/gpt-4o", base_url=address, api_key=SECRET, max_retries=0)


def crew(llm, **options):
    writer = agent(llm, max_retry_limit=0, **options)
    return Crew(agents=[writer], tasks=[task(writer, "Write a line about {topic}.")])


async def failed(target):
    async with running(build_app(target)) as url, connect(url) as client:
        done = await send(client, user_message("the sea"))
    assert done.status.state == TaskState.TASK_STATE_FAILED
    return said_of(done)


@pytest.mark.parametrize(("status", "category"), STATUSES)
async def test_a_provider_answers_with_an_error(status, category):
    async with running(REFUSING) as address:
        found, text = await failed(crew(model(f"{address}/{status}/v1")))
    assert (found, "model" in text) == (category, True)


async def test_a_provider_cannot_be_reached():
    assert (await failed(crew(model(UNREACHABLE))))[0] == "model_unavailable"


async def test_an_agent_reaches_its_time_limit():
    slow = Scripted(lambda _: time.sleep(1.2) or "late")
    assert (await failed(crew(slow, max_execution_time=1)))[0] == "limit"
