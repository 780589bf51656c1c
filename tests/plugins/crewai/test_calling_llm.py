"""A remote agent as the model of an agent."""

from __future__ import annotations

import asyncio
import json
import threading

import pytest
from a2a_adapters_crewai import A2ALLM, A2AAgent, A2ATool
from crewai import Agent, Crew, Task
from crewai.events.stream_context import add_stream_sink
from crewai.tools import BaseTool
from pydantic import BaseModel, ValidationError

from a2a_adapters import (
    ConfigurationError,
    Rejected,
    RemoteAgent,
    RemoteConnectionError,
    RemoteTaskError,
    Text,
    build_app,
)
from a2a_adapters.plugin import AgentDescription
from a2a_adapters.plugin import remote_llm as make_llm
from a2a_adapters.protocol.card import build_card
from a2a_adapters.testing import running
from tests.plugins.crewai.calling import Desk, desk, served
from tests.support.agents.calling import SPENT, asked_through, assert_counted_once
from tests.support.servers.front import Recording


def crew_of(model, description="{topic}", **fields):
    writer = Agent(role="Writer", goal="Write", backstory="b", llm=model, **fields)
    return Crew(
        agents=[writer], tasks=[Task(description=description, expected_output="o", agent=writer)]
    )


async def kickoff(crew, how, inputs):
    if how == "sync":
        return await asyncio.to_thread(crew.kickoff, inputs)
    return await crew.akickoff(inputs)


@pytest.mark.parametrize("how", ["sync", "async"])
async def test_a_crew_whose_model_is_a_remote_agent(how):
    async with desk() as (there, agent):
        result = await kickoff(crew_of(A2ALLM(agent=agent)), how, {"topic": "cats"})
    assert result.raw.startswith("heard")
    assert there.texts[0].startswith("System: You are Writer.")
    assert "User: \nCurrent Task: cats" in there.texts[0]
    assert result.token_usage.total_tokens == 11


async def test_many_threads_share_one_agent():
    async with desk() as (_, agent):
        model = A2ALLM(agent=agent)
        topics = [f"topic {n}" for n in range(16)]
        answers = await asyncio.gather(*(asyncio.to_thread(model.call, t) for t in topics))
        assert [answer.strip() for answer in answers] == [f"heard {t}" for t in topics]
        assert (await model.acall("cats")).strip() == "heard cats"
        assert model.get_token_usage_summary().total_tokens == 17 * 11


async def test_it_works_inside_a_running_event_loop():
    async with desk() as (_, agent):
        thread = threading.current_thread()

        def call():
            assert threading.current_thread() is not thread
            return asyncio.run(in_a_loop())

        async def in_a_loop():
            return A2ALLM(agent=agent).call("cats")

        assert (await asyncio.to_thread(call)).strip() == "heard cats"


async def test_chunks_are_emitted_to_crewais_stream():
    async with desk() as (_, agent):
        chunks = []

        def note(_, event):
            if event.type == "llm_stream_chunk":
                chunks.append(event.chunk)

        def call(stream):
            add_stream_sink(note)
            return A2ALLM(agent=agent, stream=stream).call("cats")

        silent = await asyncio.to_thread(call, stream=False)
        assert chunks == []
        assert await asyncio.to_thread(call, stream=True) == silent
    assert "".join(chunks) == silent == "heard cats "
    assert len(chunks) > 1


class Shout(BaseTool):
    name: str = "shout"
    description: str = "Say it louder."

    def _run(self, text: str) -> str:
        return text.upper()


async def test_the_local_agents_tools_work():
    async def remote(text: str) -> str:
        if "CATS" in text:
            return "Thought: done\nFinal Answer: CATS"
        action = 'Action: shout\nAction Input: {"text": "cats"}'
        return f"Thought: louder\n{action}\nObservation: made up\nFinal Answer: made up"

    async with served(remote) as url, RemoteAgent(url) as agent:
        result = await crew_of(A2ALLM(agent=agent), tools=[Shout()]).akickoff({"topic": "cats"})
    assert result.raw == "CATS"


class Book(BaseModel):
    title: str
    pages: int


async def test_data_is_validated_by_the_response_model():
    async with desk() as (_, agent):
        model = A2ALLM(agent=agent)
        book = await asyncio.to_thread(model.call, "data", response_model=Book)
        assert book == Book(title="Moby", pages=3)
        text = await asyncio.to_thread(model.call, "data")
        assert json.loads(text) == {"title": "Moby", "pages": 3}
        assert (await model.acall("cats", response_model=Book)).strip() == "heard cats"


async def test_a_question_of_the_agent_is_the_answer():
    async with desk() as (_, agent):
        assert await A2ALLM(agent=agent).acall("book") == "Which city?"


@pytest.mark.parametrize("how", ["sync", "async"])
async def test_a_failed_task_is_not_retried(how):
    async with desk() as (there, agent):
        with pytest.raises(RemoteTaskError) as failure:
            await kickoff(crew_of(A2ALLM(agent=agent)), how, {"topic": "fail"})
    assert len(there.received) == 1
    assert "hunter2" not in str(failure.value)


async def test_a_refusal_that_mentions_rate_limits_is_not_retried():
    received = []

    async def refuse(request):
        received.append(request)
        yield Rejected("rate limit: too many requests")

    async with served(refuse) as url, RemoteAgent(url) as agent:
        with pytest.raises(RemoteTaskError):
            await asyncio.to_thread(A2ALLM(agent=agent).call, "cats")
    assert len(received) == 1


async def test_a_lost_connection_is_not_retried_blindly():
    sent = []

    async def lose(reader, writer):
        sent.append(await reader.readuntil(b"\r\n\r\n"))
        writer.close()

    server = await asyncio.start_server(lose, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    card = build_card(AgentDescription(name="x", description="x"), f"http://127.0.0.1:{port}")
    async with server, RemoteAgent(card) as agent:
        with pytest.raises(RemoteConnectionError):
            await asyncio.to_thread(crew_of(A2ALLM(agent=agent)).kickoff, {"topic": "cats"})
    assert len(sent) == 1


async def test_options_reach_the_agent():
    there = Desk()
    recording = Recording(build_app(there.answer, name="Travel desk"))
    options = {"timeout": 60, "max_retries": 1, "headers": {"X-Key": "k"}}
    async with running(recording) as url:
        model = A2ALLM(url, **options)
        await model.acall("hello")
        tool = await asyncio.to_thread(A2ATool.from_url, url, **options)
        await asyncio.to_thread(tool.run, message="hello")
        member = await asyncio.to_thread(A2AAgent.from_url, url, **options)
        await member.aask([Text("hello")])
        assert len(there.texts) == 3
        for each in (model, tool, member):
            await each.agent.aclose()
            await asyncio.to_thread(each.agent.close)
    assert set(recording.header_values("x-key")) == {"k"}


@pytest.mark.parametrize(
    "option", ["temperature", "max_tokens", "api_key", "base_url", "additional_params", "colour"]
)
def test_options_that_no_agent_supports_are_refused(option):
    with pytest.raises(ConfigurationError, match=f"takes no {option}"):
        A2ALLM("http://127.0.0.1:9", **{option: 1})
    with pytest.raises(ConfigurationError, match="timeout"):
        A2ALLM(RemoteAgent("http://127.0.0.1:9"), timeout=1)
    with pytest.raises(ValidationError, match=option):
        A2ATool(agent="http://127.0.0.1:9", name="a", description="d", **{option: 1})


async def test_the_hook_creates_one():
    model = make_llm("http://127.0.0.1:9", "crewai")
    assert isinstance(model, A2ALLM)
    assert model.model == "a2a/http://127.0.0.1:9"
    assert model.get_input_tokens_count("four") >= 1


def crew_around(member):
    return Crew(
        agents=[member], tasks=[Task(description="{topic}", expected_output="o", agent=member)]
    )


async def test_the_tokens_of_a_remote_model_count_once():
    def outer(remote):
        model = A2ALLM(agent=remote)
        return crew_around(Agent(role="Writer", goal="Write", backstory="b", llm=model))

    assert_counted_once(await asked_through(outer))


async def test_the_tokens_of_a_remote_member_count_once():
    def outer(remote):
        return crew_around(A2AAgent(agent=remote, role="Desk", goal="Book trips"))

    reply = await asked_through(outer)
    assert reply.usage == SPENT
