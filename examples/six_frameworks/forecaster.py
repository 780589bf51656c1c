"""An agent of Pydantic AI that forecasts the weather."""

from __future__ import annotations

from pydantic_ai import Agent
from pydantic_ai.models.function import FunctionModel


async def rules(*_):
    """Stand in for a language model."""
    yield "sunny"


forecaster = Agent(FunctionModel(stream_function=rules), name="forecaster")
