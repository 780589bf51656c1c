"""A trip planned by agents of three frameworks, over A2A and over MCP.

    pip install 'a2a-adapters[langchain,mcp,openai-agents]' 'langchain-mcp-adapters<0.4'
    python examples/travel/trip.py

The MCP server, the three agents and the client run in separate processes. No model and no network
is needed. The script fails if a result is wrong.
"""

from __future__ import annotations

import asyncio
from contextlib import ExitStack

import processes
from mcp import ClientSession, types
from mcp.client.streamable_http import streamable_http_client

from a2a_adapters import AgentReply, Progress, RemoteAgent, RemoteOptions

QUESTION = "How many nights in Oslo?"
TRIP = {
    "city": "Oslo",
    "degrees": -3,
    "advice": "Take a coat.",
    "nights": 2,
    "price": 1840.0,
    "currency": "NOK",
}


async def over_a2a(planner: str) -> None:
    steps = []
    async with RemoteAgent(planner, options=RemoteOptions(progress=True)) as agent:
        talk = agent.conversation()
        async for event in talk.stream("Oslo"):
            match event:
                case Progress():
                    print("  meanwhile:", event.text)
                    steps.append(event.text)
                case AgentReply():
                    print("  the agent asks:", event.question)
                    assert event.question == QUESTION
        assert steps == ["weather: calls weather"]
        reply = await talk.send("2")
        print("  the answer:", reply.data_text)
        assert reply.data == [TRIP]


async def over_mcp(planner: str) -> None:
    steps = []

    async def on_question(_: object, asked: types.ElicitRequestParams) -> types.ElicitResult:
        print("  the agent asks:", asked.message)
        assert asked.message == QUESTION
        return types.ElicitResult(action="accept", content={"answer": "2"})

    async def on_progress(_: float, _total: float | None, message: str | None) -> None:
        print("  meanwhile:", message)
        steps.append(message)

    async with (
        streamable_http_client(f"{planner}/mcp") as (read, write, _),
        ClientSession(read, write, elicitation_callback=on_question) as session,
    ):
        await session.initialize()
        [tool] = (await session.list_tools()).tools
        print("  the tool:", tool.description)
        result = await session.call_tool(
            tool.name, {"message": "Oslo"}, progress_callback=on_progress
        )
    print("  the answer:", result.structuredContent)
    assert result.structuredContent == TRIP
    assert steps == ["weather: calls weather"]


def main() -> None:
    with ExitStack() as started:
        tools = started.enter_context(processes.tools())
        weather = processes.agent("meteorologist:make_agent")
        room = processes.agent(
            "hotel:make_graph", "--description", "Books a room.", TRAVEL_TOOLS=tools
        )
        agents = [started.enter_context(each) for each in (weather, room)]
        planner = started.enter_context(
            processes.agent(
                "planner:make_planner", "--dialect", "mcp", TRAVEL_AGENTS=" ".join(agents)
            )
        )
        print("over A2A")
        asyncio.run(over_a2a(planner))
        print("over MCP")
        asyncio.run(over_mcp(planner))


if __name__ == "__main__":
    main()
