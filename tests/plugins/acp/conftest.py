"""The working folder of a coding agent, and a client."""

from __future__ import annotations

import pytest

from tests.plugins.acp.support import scripted, served


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "work"


@pytest.fixture
async def client(folder):
    async with served(scripted(folder)) as client:
        yield client
