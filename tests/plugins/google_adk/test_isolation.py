"""Concurrent callers with the same context ids are isolated."""

from __future__ import annotations

import asyncio

import pytest
from google.adk.agents.llm_agent import LlmAgent
from google.adk.runners import InMemoryRunner
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.tool_context import ToolContext

from a2a_adapters import ServerOptions, build_app
from a2a_adapters.testing import answer_of, connect, running, user_message
from tests.plugins.google_adk.support import Fake, calling, results, said
from tests.plugins.sql.conftest import new_url
from tests.support.busy import send

CALLERS, TURNS = 40, 3


async def repeat(words: str, tool_context: ToolContext) -> str:
    """Repeat the text after yielding to other runs."""
    for _ in range(3):
        await asyncio.sleep(0)
    return f"{tool_context.state['temp:a2a'].owner}: {words}"


def listening() -> LlmAgent:
    """Return an agent whose tool repeats the conversation with the caller's name."""

    def act(contents):
        if done := results(contents):
            return next(iter(done.values()))
        return calling("repeat", call_id=f"r{len(contents)}", words=" ".join(said(contents)))

    tools = [FunctionTool(repeat, require_confirmation=True)]
    return LlmAgent(name="helper", model=Fake(act), tools=tools)


async def talk(url, caller):
    words = [f"{caller}.{turn}" for turn in range(TURNS)]
    async with connect(url, user=caller) as client:
        for word in words:
            task = await send(client, user_message(word, context_id="shared"))
            assert task.status.message.parts, "every call is approved"
            task = await send(client, user_message("yes", task_id=task.id))
    return f"{caller}: {' '.join(words)}", answer_of(task)


@pytest.mark.parametrize(
    ("engine", "made"),
    [
        ("memory", listening),
        ("postgresql", lambda: listening),
        ("sqlite", lambda: InMemoryRunner(agent=listening())),
    ],
    ids=["agent", "function", "runner"],
)
async def test_callers_are_isolated(engine, made, tmp_path):
    storage = "memory:" if engine == "memory" else new_url(engine, tmp_path)
    async with running(build_app(made(), options=ServerOptions(storage=storage))) as url:
        talks = await asyncio.gather(*(talk(url, f"caller{n}") for n in range(CALLERS)))
    assert [heard for _, heard in talks] == [told for told, _ in talks]
