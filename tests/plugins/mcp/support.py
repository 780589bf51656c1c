"""MCP clients of the official SDK."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import httpx
from mcp import ClientSession, StdioServerParameters, types
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from a2a_adapters import BearerTokens, ServerOptions, build_app
from a2a_adapters.testing import running
from a2a_adapters.testing.local import as_user
from tests.plugins.mcp import agents
from tests.support.processes import PATIENCE
from tests.support.warm import warm

AGENTS = Path(__file__).with_name("agents.py")
SERVER = str(Path(__file__).with_name("tool_server.py"))
TOKENS = ServerOptions(authentication=BearerTokens({"token-of-ann": "ann", "token-of-bob": "bob"}))


@asynccontextmanager
async def offered(dialect="mcp", target=None, options=None):
    """Yield the URL of a server that offers agents; by default all test agents."""
    async with running(build_app(target or agents.ALL, dialects=[dialect], options=options)) as url:
        yield url


def as_bearer(name):
    """Return the header of a caller of `TOKENS`."""
    return {"Authorization": f"Bearer token-of-{name}"}


@asynccontextmanager
async def over_http(url, *, user="", headers=None, **callbacks):
    """Yield a session with the MCP server at a URL."""
    headers = headers or (as_user(user) if user else {})
    async with (
        httpx.AsyncClient(headers=headers, timeout=60) as http,
        streamable_http_client(f"{url}/mcp", http_client=http) as (read, write, _),
        ClientSession(read, write, **callbacks) as session,
    ):
        await session.initialize()
        yield session


@asynccontextmanager
async def over_stdio(*arguments, environment=None, errors=None, **callbacks):
    """Yield a session with an `a2a-adapters mcp` process."""
    command, *rest = warm("-m", "a2a_adapters", "mcp", *arguments)
    server = StdioServerParameters(
        command=command, args=rest, env={**os.environ, **(environment or {})}
    )
    async with (
        stdio_client(server, errors or sys.stderr) as (read, write),
        ClientSession(read, write, **callbacks) as session,
    ):
        await session.initialize()
        yield session


@contextmanager
def http_server(port=0):
    """Run the server over HTTP; yield its process and its address."""
    process = subprocess.Popen(warm(SERVER, str(port)), stdout=subprocess.PIPE, text=True)
    try:
        port = int(process.stdout.readline())
        yield process, f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        try:
            process.communicate(timeout=PATIENCE)
        finally:
            process.kill()


def text_of(result):
    """Return the text of a result."""
    return "\n".join(block.text for block in result.content if block.type == "text")


class User:
    """Answers elicitations with the given contents in order, or with a fixed action."""

    def __init__(self, *contents, action="accept"):
        self._contents = list(contents)
        self._action = action
        self.asked = []

    async def answer(self, _context, asked):
        self.asked.append(asked)
        content = self._contents.pop(0) if self._contents and self._action == "accept" else None
        return types.ElicitResult(action=self._action, content=content)


async def begin(folder, call, text="x"):
    """Start a call that waits after it has written the text; return it and a task.

    The task ends when the call is cancelled, with the result `yes`.
    """
    ended = asyncio.create_task(asyncio.to_thread((folder / "cancelled").read_text))
    waiting = asyncio.create_task(call)
    assert await asyncio.to_thread((folder / "begun").read_text) == text
    return waiting, ended


def cancelled(request_id):
    """Return the notification that cancels a call."""
    params = types.CancelledNotificationParams(requestId=request_id)
    return types.ClientNotification(types.CancelledNotification(params=params))


async def until_gone(pid):
    """Wait for the end of any process."""
    while True:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        await asyncio.sleep(0.01)
