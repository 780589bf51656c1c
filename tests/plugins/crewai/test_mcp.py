"""Agents with tools of MCP servers: each call has a connection of its own."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from pathlib import Path

import pytest
from a2a_adapters_crewai import adapt
from crewai import Crew
from crewai.mcp import MCPServerHTTP, MCPServerStdio

from tests.plugins.crewai.support import (
    Scripted,
    agent,
    answer,
    ask,
    observed,
    request,
    run,
    task,
    tool_call,
)
from tests.plugins.mcp.support import http_server, until_gone
from tests.support.processes import fifos

SMALL = str(Path(__file__).parents[1] / "mcp" / "small_server.py")


def call_it(prompt):
    """Call the only tool, named after its server's command, and answer with its result."""
    if found := observed(prompt):
        return f"Final Answer: {found[-1]}"
    [name] = re.findall(r"Tool Name: (\S+)", prompt)
    return tool_call(name, '{"text": "hello"}')


def alone(server, model=call_it):
    return agent(Scripted(model), mcps=[server])


def in_crew(server, model=call_it):
    writer = alone(server, model)
    return Crew(agents=[writer], tasks=[task(writer)])


both = pytest.mark.parametrize("make", [alone, in_crew])


def small(mode):
    return MCPServerStdio(command=sys.executable, args=[SMALL, mode], env=dict(os.environ))


@pytest.fixture
async def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("MCP_TEST_FOLDER", str(tmp_path))
    (tmp_path / "first").touch()
    with fifos(tmp_path, "begun", "cancelled"):
        yield tmp_path


def read(path):
    """Return the contents of a FIFO."""
    return asyncio.create_task(asyncio.to_thread(path.read_text))


@both
async def test_each_call_starts_and_stops_its_own_mcp_server(make):
    adapter = adapt(make(small("process")))
    answers = await asyncio.gather(*(ask(adapter, "go") for _ in range(4)))
    processes = {int(answer(events)) for events in answers}
    assert len(processes) == 4
    for process in processes:
        await until_gone(process)


@both
async def test_a_cancelled_run_stops_its_mcp_server(make, folder):
    running = asyncio.create_task(run(adapt(make(small("endless"))), request("go")))
    process = int(await read(folder / "begun"))
    running.cancel()
    await until_gone(process)


@both
async def test_an_mcp_server_that_does_not_start_delays_no_other_run(make, folder):
    adapter = adapt(make(small("held")))
    held = asyncio.create_task(run(adapter, request("go")))
    process = int(await read(folder / "begun"))
    assert answer(await ask(adapter, "go")) == "hello"
    assert not held.done()
    held.cancel()
    await until_gone(process)


@pytest.mark.filterwarnings("ignore:Use `streamable_http_client` instead:DeprecationWarning")
async def test_a_cancelled_run_notifies_its_mcp_server_over_http(folder):
    def wait(prompt):
        before, _, _ = prompt.partition('"title": "waitSchema"')
        return tool_call(re.findall(r"Tool Name: (\S+)", before)[-1], '{"number": 1}')

    with http_server() as (_, url):
        ended = read(folder / "cancelled")
        running = asyncio.create_task(
            run(adapt(alone(MCPServerHTTP(url=url), wait)), request("go"))
        )
        assert await read(folder / "begun") == "1"
        running.cancel()
        assert await ended == "yes"
