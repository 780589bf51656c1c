"""Calls MCP tools directly and over A2A: `python tool_calls.py AGENT_PORT OFFERED_PORT`.

The first port serves this file's MCP server as an agent, the second one an agent as a tool, too.
Prints two overheads in milliseconds: a call of the tool over A2A compared with an MCP client that
starts the same server, and a call of the agent as a tool compared with A2A.
"""

from __future__ import annotations

import asyncio
import sys
import time
from statistics import median

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.server.fastmcp import FastMCP

from a2a_adapters import Data, RemoteAgent

CALLS, WARM_UP_CALLS = 200, 20

server = FastMCP("Measured", log_level="ERROR")


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def main(agent_port: str, offered_port: str) -> None:
    itself = StdioServerParameters(command=sys.executable, args=[__file__])
    offered = f"http://127.0.0.1:{offered_port}"
    async with (
        stdio_client(itself) as started,
        ClientSession(*started) as direct,
        streamable_http_client(f"{offered}/mcp") as (read, write, _),
        ClientSession(read, write) as tools,
        RemoteAgent(f"http://127.0.0.1:{agent_port}") as agent,
        RemoteAgent(offered) as echo,
    ):
        for session in (direct, tools):
            await session.initialize()
        [tool] = (await tools.list_tools()).tools
        numbers = {"a": 1, "b": 2}
        talk = agent.conversation()
        over_a2a = await added(
            lambda: talk.send(Data({"tool": "add", "arguments": numbers})),
            lambda: direct.call_tool("add", numbers),
        )
        over_mcp = await added(
            lambda: tools.call_tool(tool.name, {"message": "hello"}), lambda: echo.send("hello")
        )
    print(over_a2a, over_mcp)


async def added(one, other) -> float:
    """Return the difference between the durations of two calls, in milliseconds."""
    ones, others = [], []
    for _ in range(WARM_UP_CALLS + CALLS):  # alternately, because the speed of the machine varies
        ones.append(await milliseconds(one()))
        others.append(await milliseconds(other()))
    return median(ones[WARM_UP_CALLS:]) - median(others[WARM_UP_CALLS:])


async def milliseconds(call) -> float:
    began = time.perf_counter()
    await call
    return (time.perf_counter() - began) * 1e3


if __name__ == "__main__":
    if len(sys.argv) > 1:
        asyncio.run(main(*sys.argv[1:]))
    else:
        server.run()
