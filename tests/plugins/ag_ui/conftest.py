"""A client of an agent served in AG-UI."""

from __future__ import annotations

import pytest

from tests.plugins.ag_ui.served import serving


@pytest.fixture
async def http():
    async with serving() as http:
        yield http
