"""Agents outside of crews."""

from __future__ import annotations

import asyncio

import pytest
from a2a.types import TaskState
from a2a_adapters_crewai import adapt

from a2a_adapters import Data, File, InvalidInputError, Progress, Text, build_app
from a2a_adapters.plugin import Turn
from a2a_adapters.testing import answer_of, connect, running, send, stream, user_message
from tests.plugins.crewai.support import Scripted, agent, answer, ask, request


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
