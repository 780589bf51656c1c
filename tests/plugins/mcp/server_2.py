"""A server of mcp 2, over stdio."""

from __future__ import annotations

from mcp.server.mcpserver import Context, MCPServer
from pydantic import BaseModel

server = MCPServer("Two")


class City(BaseModel):
    """A destination."""

    city: str


@server.tool()
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@server.tool()
async def book(nights: int, context: Context) -> str:
    """Books a room."""
    answer = await context.elicit("where to?", City)
    return f"{nights} nights in {answer.data.city}"


server.run()
