"""A served LangGraph agent with the tools of an MCP server, which starts and stops with it.

pip install 'a2a-adapters[langchain,mcp]' langchain 'langchain-mcp-adapters<0.4'
python examples/mcp_inside.py
"""

from __future__ import annotations

import asyncio
import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from langchain.agents import create_agent
from langchain_core.language_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.tools import load_mcp_tools
from mcp.server.fastmcp import FastMCP

from a2a_adapters import RemoteAgent, build_app
from a2a_adapters.testing import running

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

tools = FastMCP("Sky", log_level="ERROR")


@tools.tool()
def weather(city: str) -> str:
    """Report the weather."""
    return f"21 degrees in {city}"


class Model(FakeMessagesListChatModel):
    """Stands in for your model: calls the tool, then answers."""

    def bind_tools(self, _tools: object, **_: object) -> Model:
        return self


@asynccontextmanager
async def make_agent() -> AsyncIterator[object]:
    call = {"name": "weather", "args": {"city": "Oslo"}, "id": "1"}
    model = Model(responses=[AIMessage("", tool_calls=[call]), AIMessage("It is mild in Oslo.")])
    server = {"transport": "stdio", "command": sys.executable, "args": [__file__, "--tools"]}
    client = MultiServerMCPClient({"sky": server})
    async with client.session("sky") as session:
        yield create_agent(model, await load_mcp_tools(session))


async def main() -> None:
    async with running(build_app(make_agent)) as url, RemoteAgent(url) as agent:
        reply = await agent.send("How is the weather?")
        print(reply.text)
        assert reply.text == "It is mild in Oslo."


if __name__ == "__main__":
    if "--tools" in sys.argv:
        tools.run()
    else:
        asyncio.run(main())
