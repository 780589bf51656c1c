"""Weather and currencies: the tools of an MCP server.

python tools.py           over stdio
python tools.py --http    over streamable HTTP; prints its address
"""

from __future__ import annotations

import socket
import sys

import uvicorn
from mcp.server.fastmcp import FastMCP
from pydantic import BaseModel

server = FastMCP("Travel tools", log_level="ERROR")


class Weather(BaseModel):
    """The weather of a city."""

    city: str
    degrees: int
    sky: str


class Money(BaseModel):
    """An amount of money."""

    amount: float
    currency: str


SKIES = {"Oslo": Weather(city="Oslo", degrees=-3, sky="snow")}
RATES = {"NOK": 11.5, "USD": 1.25}


@server.tool()
def weather(city: str) -> Weather:
    """Report the weather of a city."""
    return SKIES[city]


@server.tool()
def convert(euros: float, currency: str) -> Money:
    """Convert euros to another currency."""
    return Money(amount=round(euros * RATES[currency], 2), currency=currency)


def over_http() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    print(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp", flush=True)
    config = uvicorn.Config(
        server.streamable_http_app(), log_level="error", timeout_graceful_shutdown=1
    )
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    over_http() if "--http" in sys.argv else server.run()
