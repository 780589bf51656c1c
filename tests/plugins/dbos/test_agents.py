"""Agents of frameworks in workflows that are killed; `make durable` has the packages of all."""

from __future__ import annotations

import asyncio

import pytest

from a2a_adapters import TargetError, build_app
from tests.plugins.sql.test_resume import Caller, texts
from tests.support.processes import launched
from tests.support.warm import warm

pytestmark = [pytest.mark.thorough, pytest.mark.timeout(300)]

NO_MODEL = []
STORED = ["0", "1", "2"]
REPEATED = ["0", "1", "0", "1", "2"]
"""The model's calls, without a package that makes them steps."""


@pytest.mark.parametrize(
    ("framework", "package", "turns"),
    [
        ("agent_framework", "agent_framework", REPEATED),
        ("google_adk", "dbos_google_adk", STORED),
        ("langgraph", "langgraph", NO_MODEL),
        ("llama_index", "workflows", NO_MODEL),
        ("openai_agents", "dbos_openai_agents", STORED),
        ("pydantic_ai", "pydantic_ai", STORED),
        ("strands", "strands", REPEATED),
    ],
)
async def test_a_killed_agent_continues_after_its_last_step(tmp_path, framework, package, turns):
    pytest.importorskip(package)
    storage, database = f"sqlite:///{tmp_path}/agents.db", f"sqlite:///{tmp_path}/dbos.db"
    served = "tests.plugins.dbos.served_agents"
    command = warm("-m", served, framework, storage, database, str(tmp_path))
    with launched(command) as (process, url):
        async with Caller(url) as caller:
            task = await caller.send("go")
            while not (tmp_path / "begun").exists():  # noqa: ASYNC110 - of another process
                await asyncio.sleep(0.05)
        process.kill()
    (tmp_path / "go").touch()
    with launched(command) as (_, url):
        async with Caller(url) as caller:
            done = await caller.ended(task["id"])
    assert done["status"]["state"] == "TASK_STATE_COMPLETED"
    assert texts(done) == ["one two"]
    assert (tmp_path / "steps").read_text().split() == ["first", "second", "second"]
    noted = tmp_path / "turns"
    assert (noted.read_text().split() if noted.exists() else []) == turns


def test_agents_of_google_adk_with_the_plugin_of_dbos_are_refused():
    plugin = pytest.importorskip("dbos_google_adk").DBOSPlugin()
    from google.adk.apps import App
    from google.adk.runners import InMemoryRunner

    from tests.plugins.google_adk import support

    app = App(name="clerk", root_agent=support.agent("Done."), plugins=[plugin])
    for target in (app, InMemoryRunner(app=app)):
        with pytest.raises(TargetError, match="'clerk' is durable only inside a workflow"):
            build_app(target)
