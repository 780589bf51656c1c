"""A client of an agent behind the OpenAI-compatible API."""

from __future__ import annotations

import pytest

from tests.plugins.openai.served import calling


@pytest.fixture
async def api():
    async with calling() as api:
        yield api
