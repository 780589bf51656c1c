"""An agent and its client."""

from __future__ import annotations

import pytest

from tests.support.requests import Agent, serving


@pytest.fixture
async def agent():
    return Agent(input_modes=["*/*"])


@pytest.fixture
async def http(agent):
    async with serving(agent) as client:
        yield client
