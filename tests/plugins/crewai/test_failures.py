"""Failures of crews have a category."""

from __future__ import annotations

import time

import pytest
from a2a.types import TaskState
from crewai import LLM, Crew

from a2a_adapters import build_app
from a2a_adapters.testing import connect, running, send, user_message
from tests.plugins.crewai.support import Scripted, agent, task
from tests.plugins.refusing import REFUSING, SECRET, STATUSES, UNREACHABLE, said_of


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
