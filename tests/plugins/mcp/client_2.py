"""A client of mcp 2: calls the agent `book` of an address, and answers its question."""

from __future__ import annotations

import asyncio
import sys

from mcp import Client
from mcp_types import ElicitResult


async def answer(_context, _asked):
    return ElicitResult(action="accept", content={"answer": "Rome"})


async def main(url):
    async with Client(url, elicitation_callback=answer) as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        result = await client.call_tool("book", {"message": "two"})
        print(*tools, "-", result.content[0].text)  # noqa: T201


asyncio.run(main(sys.argv[1]))
