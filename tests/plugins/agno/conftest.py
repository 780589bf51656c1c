"""A client of an agent served in Agno's dialect."""

from __future__ import annotations

import pytest

from tests.plugins.agno.served import serving


@pytest.fixture
async def http():
    async with serving() as http:
        yield http
