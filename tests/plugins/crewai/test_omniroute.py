"""An OmniRoute gateway as the model of an agent."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

import pytest
from a2a_adapters_omniroute import OmniRouteBudgetError, OmniRouteLLM, OmniRouteProviderError
from crewai import Agent, Crew, Task
from crewai.events.stream_context import add_stream_sink

from a2a_adapters.testing import running
from tests.plugins.omniroute.gateways import KEY, Described


@asynccontextmanager
async def gateway(**options):
    """Yield a documented gateway and a model for it."""
    described = Described()
    async with running(described.app()) as url:
        model = OmniRouteLLM(base_url=url, api_key=KEY, **options)
        yield described, model
        await model.agent.aclose()
        await asyncio.to_thread(model.agent.close)


def crew_of(model):
    writer = Agent(role="Writer", goal="Write", backstory="b", llm=model)
    task = Task(description="{topic}", expected_output="o", agent=writer)
    return Crew(agents=[writer], tasks=[task])


@pytest.mark.parametrize("how", ["sync", "async"])
async def test_a_crew_whose_model_is_a_gateway(how):
    async with gateway(model="m", budget=0.5) as (described, model):
        crew = crew_of(model)
        inputs = {"topic": "cats"}
        kickoff = (
            asyncio.to_thread(crew.kickoff, inputs) if how == "sync" else crew.akickoff(inputs)
        )
        result = await kickoff
    assert "cats" in result.raw
    sent = described.calls[0]["params"]
    assert [message["role"] for message in sent["messages"]] == ["system", "user"]
    assert sent["metadata"] == {"model": "m", "budget": 0.5}


async def test_it_is_called_from_many_threads_and_streams():
    async with gateway(stream=True) as (_, model):
        topics = [f"topic {n}" for n in range(12)]
        answers = await asyncio.gather(*(asyncio.to_thread(model.call, t) for t in topics))
        assert [answer.strip() for answer in answers] == topics
        chunks = []

        def note(_, event):
            if event.type == "llm_stream_chunk":
                chunks.append(event.chunk)

        def call():
            add_stream_sink(note)
            return model.call("a b")

        assert await asyncio.to_thread(call) == "a b"
    assert chunks == ["a ", "b"]


async def test_stop_words_end_the_answer():
    async with gateway(stop=["STOP"]) as (_, model):
        assert (await model.acall("one STOP two")).strip() == "one"


@pytest.mark.parametrize(
    "message",
    [{"role": "tool", "content": "3"}, {"role": "user", "content": [{"type": "image_url"}]}],
)
async def test_unsupported_messages_are_refused(message):
    with pytest.raises(ValueError, match="OmniRoute supports only text"):
        await OmniRouteLLM().acall([message])


def test_the_errors_of_the_gateway_are_not_retried():
    assert issubclass(OmniRouteBudgetError, Exception)
    from crewai.agent import core

    OmniRouteLLM()
    assert issubclass(OmniRouteProviderError, core._passthrough_exceptions)


async def test_headers_and_retries_are_those_of_the_constructor():
    async with gateway(headers={"X-Team": "a"}, max_retries=1) as (described, model):
        described.unavailable = 1
        assert (await model.acall("a")).strip() == "a"
    assert [headers["x-team"] for headers in described.headers] == ["a", "a"]
