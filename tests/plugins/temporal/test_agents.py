"""Agents of frameworks in workflows that are killed; `make durable` has the packages of all."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from contextlib import contextmanager
from datetime import timedelta

import pytest

from a2a_adapters import TargetError, build_app
from tests.plugins.sql.test_resume import Caller, texts
from tests.support.processes import launched
from tests.support.warm import warm

pytestmark = [pytest.mark.thorough, pytest.mark.timeout(300)]

SERVED = "tests.plugins.temporal.served_agents"


@contextmanager
def worker(*arguments, environment):
    command = [sys.executable, "-m", SERVED, "worker", *arguments]
    process = subprocess.Popen(command, env=environment)
    try:
        yield
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize(
    ("framework", "package"),
    [
        ("google_adk", "temporalio.google_adk"),
        ("langgraph", "temporalio.langgraph"),
        ("openai_agents", "temporalio.openai_agents"),
        ("pydantic_ai", "pydantic_ai"),
        ("strands", "temporalio.strands_agents"),
    ],
)
async def test_a_killed_agent_continues_after_its_last_step(address, tmp_path, framework, package):
    pytest.importorskip(package)
    arguments = framework, address, f"sqlite:///{tmp_path}/agents.db"
    environment = {**os.environ, "WORK": str(tmp_path)}

    @contextmanager
    def both():
        """Run a front and a worker, and kill them."""
        command = warm("-m", SERVED, "front", *arguments)
        with (
            worker(*arguments, environment=environment),
            launched(command, environment) as (process, url),
        ):
            yield url
            process.kill()

    with both() as url:
        async with Caller(url) as caller:
            task = await caller.send("go", wait=True)
    assert task["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
    with both() as url:
        async with Caller(url) as caller:
            await caller.send("yes", task=task["id"])
            while not (tmp_path / "begun").exists():  # noqa: ASYNC110 - of another process
                await asyncio.sleep(0.05)
    (tmp_path / "go").touch()
    with both() as url:
        async with Caller(url) as caller:
            done = await caller.ended(task["id"])
    assert done["status"]["state"] == "TASK_STATE_COMPLETED"
    assert texts(done) == ["one two"]
    assert (tmp_path / "steps").read_text().split() == ["first", "second", "second"]
    if framework != "langgraph":  # its graph has no model
        assert (tmp_path / "turns").read_text().split() == ["0", "1", "2"]


def test_agents_with_the_classes_of_temporals_packages_are_refused():
    google_adk = pytest.importorskip("temporalio.google_adk")
    strands = pytest.importorskip("temporalio.strands_agents")
    from google.adk.agents.llm_agent import LlmAgent

    for agent in (
        LlmAgent(name="clerk", model=google_adk.TemporalModel("gemini")),
        strands.TemporalAgent(name="clerk", start_to_close_timeout=timedelta(seconds=1)),
    ):
        with pytest.raises(TargetError, match="'clerk' is durable only inside a workflow"):
            build_app(agent)
