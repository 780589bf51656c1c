"""A server of Temporal, a client, and a worker."""

from __future__ import annotations

import pytest

from tests.plugins.temporal import support


@pytest.fixture(scope="session")
def address():
    with support.server() as address:
        yield address


@pytest.fixture
async def temporal(address):
    """A client, while a worker runs."""
    client = await support.connected(address)
    async with support.working(client):
        yield client
