"""MCP tools inside a served graph: connections close with the call or the server.

`tests/plugins/autogen/test_resources.py` tests the same for AutoGen's workbenches.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from langchain.agents import create_agent
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.tools import load_mcp_tools

from a2a_adapters import RemoteAgent, build_app
from a2a_adapters.testing import running
from tests.plugins.langchain.support import Scripted, call, calling, last_text
from tests.plugins.mcp.support import begin, until_gone
from tests.support.warm import warm

pytestmark = pytest.mark.timeout(5 * 60)

SERVER = str(Path(__file__).with_name("tool_server.py"))
CALLERS = 4


def client():
    command, *args = warm(SERVER)
    box = {"transport": "stdio", "command": command, "args": args, "env": dict(os.environ)}
    return MultiServerMCPClient({"box": box})


def graph(tools, tool="pid", **arguments):
    def answer(messages):
        has_result = messages[-1].type == "tool"
        return last_text(messages) if has_result else calling(call(tool, **arguments))

    return create_agent(Scripted(script=[answer]), tools)


async def ask_all(agent):
    """Return the process ids in the answers to concurrent callers."""
    replies = await asyncio.gather(*(agent.send("go") for _ in range(CALLERS)))
    return [int(reply.text.removeprefix("heard ")) for reply in replies]


async def test_a_session_for_each_call_ends_with_it():
    async def make_agent():
        return graph(await client().get_tools())

    async with running(build_app(make_agent)) as url, RemoteAgent(url) as agent:
        processes = await ask_all(agent)
        assert len(set(processes)) == CALLERS
        for process in processes:
            await until_gone(process)


async def test_a_session_that_calls_share_ends_with_the_server():
    @asynccontextmanager
    async def make_agent():
        async with client().session("box") as session:
            yield graph(await load_mcp_tools(session))

    async with running(build_app(make_agent)) as url, RemoteAgent(url) as agent:
        processes = set(await ask_all(agent)) | set(await ask_all(agent))
        [process] = processes
        os.kill(process, 0)
    await until_gone(process)


async def test_a_cancelled_run_ends_its_call(folder):
    async def make_agent():
        return graph(await client().get_tools(), "wait", number=1)

    async with running(build_app(make_agent)) as url, RemoteAgent(url) as agent:
        waiting, ended = await begin(folder, agent.send("go"), "1")
        waiting.cancel()
        assert await ended == "yes"
