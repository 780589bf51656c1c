"""Agents as tools of an MCP client: over stdio from a separate process, and over HTTP.

pip install 'a2a-adapters[mcp]'
python examples/mcp_tools.py
"""

from __future__ import annotations

import asyncio
import sys

from mcp import ClientSession, StdioServerParameters, types
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from a2a_adapters import AgentRequest, InputRequired, Progress, build_app
from a2a_adapters.testing import running


async def book(request: AgentRequest):
    """Book a flight."""
    yield Progress("looking for flights")
    city = yield InputRequired("Where do you want to go?")
    yield f"Booked {request.text} to {city.text}."


async def on_question(_context: object, question: types.ElicitRequestParams) -> types.ElicitResult:
    print("  the agent asks:", question.message)
    return types.ElicitResult(action="accept", content={"answer": "Rome"})


async def on_progress(_progress: float, _total: float | None, message: str | None) -> None:
    print("  meanwhile:", message)


async def use(session: ClientSession) -> None:
    await session.initialize()
    [tool] = (await session.list_tools()).tools
    print("  the tool:", tool.description)
    result = await session.call_tool(
        tool.name, {"message": "two seats"}, progress_callback=on_progress
    )
    print("  the answer:", result.content[0].text)
    assert result.content[0].text == "Booked two seats to Rome."


async def main() -> None:
    async with running(build_app(book, dialects=["mcp"])) as url:
        print("at the agent's own port")
        async with (
            streamable_http_client(f"{url}/mcp") as (read, write, _),
            ClientSession(read, write, elicitation_callback=on_question) as session,
        ):
            await use(session)

        print("over stdio, as a desktop client does it")
        command = StdioServerParameters(
            command=sys.executable, args=["-m", "a2a_adapters", "mcp", url]
        )
        async with (
            stdio_client(command) as (read, write),
            ClientSession(read, write, elicitation_callback=on_question) as session,
        ):
            await use(session)


if __name__ == "__main__":
    asyncio.run(main())
