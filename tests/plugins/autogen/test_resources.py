"""MCP servers, model clients and agents that a factory creates are closed after the run."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest
from a2a_adapters_autogen import adapt
from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.teams import RoundRobinGroupChat
from autogen_ext.tools.mcp import McpWorkbench, StdioServerParams

from a2a_adapters import ToolResult
from tests.plugins.autogen.support import (
    Custom,
    answer,
    ask,
    calling,
    model,
    only,
    request,
    run,
)
from tests.support.processes import fifos

SERVER = Path(__file__).with_name("mcp_server.py")
RUNS = 30


def clock(folder: Path) -> McpWorkbench:
    params = StdioServerParams(command=sys.executable, args=[str(SERVER), str(folder)])
    return McpWorkbench(params)


def started(folder: Path) -> list[int]:
    return [int(file.stem) for file in folder.glob("*.pid")]


def alive(folder: Path) -> list[int]:
    return [pid for pid in started(folder) if is_running(pid)]


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def caller(folder: Path, tool: str = "now") -> AssistantAgent:
    return AssistantAgent("clock", model(calling(tool)), workbench=clock(folder))


def alone(member):
    return member


def team(member):
    return RoundRobinGroupChat([member], max_turns=1)


@pytest.mark.thorough
@pytest.mark.parametrize("kind", [alone, team])
async def test_every_run_starts_and_stops_its_own_mcp_server(tmp_path, kind):
    adapter = adapt(lambda: kind(caller(tmp_path)))
    for number in range(RUNS):
        events = await ask(adapter, "What time is it?", context_id=str(number))
        assert answer(events) == "noon"
    await adapter.aclose()
    assert (len(started(tmp_path)), alive(tmp_path)) == (RUNS, [])


async def test_a_shared_agent_keeps_its_mcp_server(tmp_path):
    bench = clock(tmp_path)
    member = AssistantAgent("clock", model(*[calling("now")] * 3), workbench=bench)
    adapter = adapt(member)
    for _ in range(3):
        assert answer(await ask(adapter, "What time is it?")) == "noon"
    assert alive(tmp_path) == started(tmp_path) != []
    await bench.stop()


async def test_a_workbench_shared_by_runs_stays_open(tmp_path):
    async with clock(tmp_path) as bench:

        def make():
            return AssistantAgent("clock", model(calling("now")), workbench=bench)

        adapter = adapt(make)
        for _ in range(3):
            assert answer(await ask(adapter, "What time is it?")) == "noon"
        await adapter.aclose()
        assert alive(tmp_path) == started(tmp_path) != []
    assert alive(tmp_path) == []


@pytest.mark.parametrize("kind", [alone, team])
async def test_a_cancelled_run_leaves_no_process(tmp_path, kind):
    adapter = adapt(lambda: kind(caller(tmp_path, "never")))
    asked = request("What time is it?")
    with fifos(tmp_path, "waiting"):
        task = asyncio.create_task(run(adapter, asked))
        await asyncio.to_thread((tmp_path / "waiting").read_bytes)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await adapter.aclose()
    assert (len(started(tmp_path)), alive(tmp_path)) == (1, [])


async def test_a_failed_run_leaves_no_process(tmp_path):
    def fail(_heard):
        raise RuntimeError("boom")

    def make():
        return RoundRobinGroupChat([caller(tmp_path), Custom(fail)], max_turns=2)

    adapter = adapt(make)
    with pytest.raises(RuntimeError):
        await ask(adapter, "What time is it?")
    await adapter.aclose()
    assert (len(started(tmp_path)), alive(tmp_path)) == (1, [])


async def test_an_mcp_server_that_cannot_start_fails_only_its_run(tmp_path):
    def make():
        bench = McpWorkbench(StdioServerParams(command=str(tmp_path / "nothing")))
        return AssistantAgent("clock", model(calling("now")), workbench=bench)

    adapter = adapt(make)
    with pytest.raises(Exception, match="nothing"):
        await ask(adapter, "What time is it?")
    await adapter.aclose()


async def test_mcp_tool_calls_are_reported(tmp_path):
    adapter = adapt(lambda: caller(tmp_path))
    events = await ask(adapter, "What time is it?", wants_progress=True)
    assert not only(events, ToolResult).is_error
    await adapter.aclose()


def closable():
    client = model("hello")
    client.closed = 0

    async def close():
        client.closed += 1

    client.close = close
    return client


@pytest.mark.parametrize("is_async", [False, True])
async def test_model_clients_of_a_run_are_closed_and_shared_ones_are_not(is_async):
    shared, own = closable(), []

    def make():
        own.append(closable())
        members = [
            AssistantAgent("one", own[-1]),
            AssistantAgent("two", shared),
        ]
        return RoundRobinGroupChat(members, max_turns=1)

    async def make_later():
        return make()

    adapter = adapt(make_later if is_async else make)
    for number in range(3):
        await ask(adapter, "hi", context_id=str(number))
    await adapter.aclose()
    assert shared.closed == 0
    assert sum(client.closed for client in own) == 3
    assert max(client.closed for client in own) == 1
