"""Clients and servers of mcp 2, in an environment of their own."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest
from a2a_adapters_mcp import McpServer, McpTools

from a2a_adapters import Data, RemoteAgent, build_app
from a2a_adapters.testing import running
from tests.plugins.mcp import agents
from tests.support.processes import UV

HERE = Path(__file__).parent

pytestmark = [pytest.mark.thorough, pytest.mark.timeout(5 * 60)]


@pytest.fixture(scope="module")
def python_2(tmp_path_factory):
    """Return the interpreter of an environment with mcp 2."""
    environment = tmp_path_factory.mktemp("mcp2") / "venv"
    python = environment / "bin" / "python"
    subprocess.run([UV, "venv", "--quiet", "--python", sys.executable, environment], check=True)
    install = [UV, "pip", "install", "--quiet", "--python", python, "mcp>=2,<3"]
    subprocess.run(install, check=True)
    return str(python)


@pytest.mark.parametrize(("mode", "version"), [("auto", "2026-07-28"), ("legacy", "2025-11-25")])
async def test_a_client_of_mcp_2_calls_agents(python_2, mode, version):
    goes_on = asyncio.Event()

    async def long(text: str) -> str:
        await goes_on.wait()
        return f"found {text}"

    targets = {"book": agents.book, "work": agents.work, "long": long}
    app = build_app(targets, dialects=[McpTools(task_after_seconds=5)])
    lines = []
    async with running(app) as url:
        process = await asyncio.create_subprocess_exec(
            python_2, HERE / "client_2.py", f"{url}/mcp", mode, stdout=subprocess.PIPE
        )
        async for line in process.stdout:
            lines.append(line.decode().strip())
            if lines[-1] == ("a task" if mode == "auto" else "done"):
                goes_on.set()
        assert await process.wait() == 0
    news = ["half of it", "calls search", "search is done"]
    task = ["a task"] if mode == "auto" else []
    answers = ["booked Rome for book", *news, "done", *task, "found long"]
    assert lines == [version, "book work long", *answers]


async def test_a_server_of_mcp_2_is_served(python_2):
    server = McpServer([python_2, str(HERE / "server_2.py")])
    async with running(build_app(server)) as url, RemoteAgent(url) as agent:
        added = await agent.send(Data({"tool": "add", "arguments": {"a": 1, "b": 2}}))
        assert added.data == [{"result": 3}]
        talk = agent.conversation()
        asked = await talk.send(Data({"tool": "book", "arguments": {"nights": 2}}))
        assert asked.question == "where to?"
        assert (await talk.send("Rome")).text == "2 nights in Rome"
