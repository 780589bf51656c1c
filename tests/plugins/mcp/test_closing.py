"""Stopping a server ends all MCP server processes."""

from __future__ import annotations

import asyncio
import gc
import os
import sys
import warnings
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
from a2a.types import Message
from a2a_adapters_mcp import McpServer

from a2a_adapters import AgentRequest, RemoteAgent, Text, build_app
from a2a_adapters.testing import running

SMALL = Path(__file__).with_name("small_server.py")


def small(mode, folder, **options):
    command = [sys.executable, "-I", "-S", str(SMALL), mode]
    return McpServer(command, env={"MCP_TEST_FOLDER": str(folder)}, **options)


@asynccontextmanager
async def served(server):
    async with running(build_app(server)) as url, RemoteAgent(url) as agent:
        yield agent


async def asked_and_left(agent, folder):
    """Send a message, leave once a process starts or runs it, and return the process id."""
    asking = asyncio.create_task(agent.send("hello"))
    process = int(await asyncio.to_thread((folder / "begun").read_text))
    asking.cancel()
    with suppress(asyncio.CancelledError):
        await asking
    return process


def assert_gone(process):
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


@pytest.mark.parametrize("shared", [False, True])
async def test_a_process_of_a_disconnected_caller_ends_with_the_server(folder, shared):
    async with served(small("deaf", folder, shared=shared)) as agent:
        process = await asked_and_left(agent, folder)
    assert_gone(process)


async def test_a_starting_process_ends_with_the_server(folder):
    async with served(small("mute", folder)) as agent:
        await agent.send("the first process starts with the server")
        (folder / "first").touch()
        process = await asked_and_left(agent, folder)
    assert_gone(process)


def request(context_id):
    asked = {"task_id": context_id, "context_id": context_id, "message": Message()}
    return AgentRequest(parts=[Text("hello")], **asked)


async def answer(adapter, context_id):
    return [event async for event in adapter.stream(request(context_id))]


async def turn(times):
    """Let other tasks run."""
    for _ in range(times):
        await asyncio.sleep(0)


@pytest.mark.thorough
@pytest.mark.parametrize("turns", range(1, 5))
def test_leaving_while_a_process_starts_leaks_nothing(folder, turns):
    async def main():
        async with small("echo", folder) as adapter:
            await answer(adapter, "first")
            asking = asyncio.create_task(answer(adapter, "second"))
            await turn(turns)
            for _ in range(2):  # a run that does not end is cancelled again
                asking.cancel()
                await turn(8)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()  # leaks of other tests
    asyncio.run(main())
    gc.collect()  # leaks of this test
