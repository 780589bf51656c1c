"""A crew with a real, local language model."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from a2a.types import TaskState
from crewai import LLM, Crew

from a2a_adapters import build_app
from a2a_adapters.testing import answer_of, connect, running, send, user_message
from tests.plugins.crewai.support import agent, task

EXAMPLES = Path(__file__).parents[3] / "examples"


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
