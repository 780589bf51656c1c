"""A weather agent of the OpenAI Agents SDK, with the tools of an MCP server over stdio.

a2a-adapters serve meteorologist:make_agent
"""

from __future__ import annotations

import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from agents import Agent
from agents.mcp import MCPServerStdio
from model import ForecastModel
from pydantic import BaseModel

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

TOOLS = str(Path(__file__).with_name("tools.py"))


class Forecast(BaseModel):
    """The result for the caller."""

    city: str
    degrees: int
    advice: str


@asynccontextmanager
async def make_agent() -> AsyncIterator[Agent]:
    command = {"command": sys.executable, "args": [TOOLS]}
    async with MCPServerStdio(command, use_structured_content=True) as tools:
        yield Agent(
            name="meteorologist",
            handoff_description="Tells the weather, and what to wear.",
            instructions="Look the weather up, and say what to wear.",
            model=ForecastModel(),
            mcp_servers=[tools],
            output_type=Forecast,
        )
