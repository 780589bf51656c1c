"""Agents of frameworks that a workflow of DBOS runs, in processes that tests kill."""

from __future__ import annotations

import asyncio
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from a2a_adapters_dbos import emit
from dbos import DBOS

from a2a_adapters import ServerOptions, serve
from tests.support.agents.chores import note, turns

FRAMEWORK, STORAGE, DATABASE, WORK = *sys.argv[1:4], Path(sys.argv[4])

DBOS(
    config={
        "name": "agents",
        "system_database_url": DATABASE,
        "executor_id": "one",
        "application_version": "1",
    }
)


@DBOS.step()
async def first() -> str:
    """Do the first half."""
    note(WORK, "steps", "first")
    await emit("one ")
    return "done"


@DBOS.step()
async def second() -> str:
    """Do the second half."""
    note(WORK, "steps", "second")
    await emit("tw")  # again when it is repeated
    note(WORK, "begun", "second")
    while not (WORK / "go").exists():  # noqa: ASYNC110 - of another process
        await asyncio.sleep(0.01)
    await emit("o")
    return "done"


def made(framework, **options):
    """Return an agent of a framework with both tools."""
    support = import_module(f"tests.plugins.{framework}.support")
    tools = [support.tool(first), support.tool(second)]
    return support.made(support.Fake(turns(support, WORK)), tools=tools, **options)


def agent_framework():
    return made("agent_framework").run


def google_adk():
    from dbos_google_adk import DBOSPlugin
    from google.adk.apps import App
    from google.adk.runners import InMemoryRunner
    from google.genai.types import Content, Part

    app = App(name="chores", root_agent=made("google_adk"), plugins=[DBOSPlugin()])

    async def run(text):
        runner = InMemoryRunner(app=app)
        session = await runner.session_service.create_session(app_name="chores", user_id="user")
        said = Content(role="user", parts=[Part(text=text)])
        async for _ in runner.run_async(user_id="user", session_id=session.id, new_message=said):
            pass

    return run


def langgraph():
    from langgraph.graph import START, StateGraph

    async def begin(state):
        await first()

    async def end(state):
        await second()

    graph = StateGraph(dict[str, Any]).add_node(begin).add_node(end)
    graph = graph.add_edge(START, "begin").add_edge("begin", "end").compile()
    return lambda text: graph.ainvoke({"text": text})


def llama_index():
    from workflows import Workflow, step
    from workflows.events import Event, StartEvent, StopEvent

    class Halfway(Event):
        pass

    class Flow(Workflow):
        @step
        async def begin(self, event: StartEvent) -> Halfway:
            await first()
            return Halfway()

        @step
        async def end(self, event: Halfway) -> StopEvent:
            await second()
            return StopEvent()

    return lambda text: Flow(timeout=None).run(text=text)


def openai_agents():
    from dbos_openai_agents import DBOSRunner

    agent = made("openai_agents")
    return lambda text: DBOSRunner.run(agent, text)


def pydantic_ai():
    from pydantic_ai.durable_exec.dbos import DBOSDurability

    return made("pydantic_ai", capabilities=[DBOSDurability()]).run


def strands():
    return made("strands").invoke_async


FRAMEWORKS = [
    agent_framework, google_adk, langgraph, llama_index, openai_agents, pydantic_ai, strands,
]  # fmt: skip
run = {make.__name__: make for make in FRAMEWORKS}[FRAMEWORK]()


@DBOS.workflow()
async def chores(text: str) -> None:
    """Let the agent do its chores."""
    await run(text)


if __name__ == "__main__":
    serve(chores, port=0, options=ServerOptions(storage=STORAGE))
