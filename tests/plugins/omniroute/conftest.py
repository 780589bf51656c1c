"""A client of an agent served in OmniRoute's dialect."""

from __future__ import annotations

import pytest

from tests.plugins.omniroute.served import serving


@pytest.fixture
async def http():
    async with serving() as http:
        yield http
