"""An MCP server as an agent: its tools are skills, and its questions go to the caller.

pip install 'a2a-adapters[mcp]'
python examples/mcp_server_served.py
"""

from __future__ import annotations

import asyncio
import sys

from a2a_adapters_mcp import McpServer
from mcp.server.fastmcp import Context, FastMCP
from pydantic import BaseModel

from a2a_adapters import Data, Progress, RemoteAgent, RemoteOptions, build_app
from a2a_adapters.testing import running

tools = FastMCP("Travel desk", instructions="Counts, and books rooms.", log_level="ERROR")


class Choice(BaseModel):
    """A destination."""

    city: str


@tools.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tools.tool()
async def book(nights: int, context: Context) -> str:
    """Book a room."""
    await context.report_progress(1, 2, "looking for rooms")
    answer = await context.elicit("Where do you want to go?", Choice)
    return f"{nights} nights in {answer.data.city}"


async def main() -> None:
    server = McpServer([sys.executable, __file__, "--tools"])
    options = RemoteOptions(progress=True)
    async with running(build_app(server)) as url, RemoteAgent(url, options=options) as agent:
        card = await agent.card()
        print(card.name, "can:", ", ".join(skill.name for skill in card.skills))

        call = Data({"tool": "add", "arguments": {"a": 1, "b": 2}})
        [total] = (await agent.send(call)).data
        print("1 + 2 =", total)
        assert total == {"result": 3}

        talk = agent.conversation()
        async for event in talk.stream(Data({"tool": "book", "arguments": {"nights": 2}})):
            if isinstance(event, Progress):
                print("meanwhile:", event.text)
        print("it asks:", event.question)
        reply = await talk.send("Rome")
        print("the answer:", reply.text)
        assert reply.text == "2 nights in Rome"


if __name__ == "__main__":
    if "--tools" in sys.argv:
        tools.run()
    else:
        asyncio.run(main())
