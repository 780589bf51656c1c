"""Calls that tolerate a busy machine."""

from __future__ import annotations

import asyncio

from a2a.client.errors import A2AClientError

from a2a_adapters import testing
from tests.support.processes import PATIENCE


async def send(client, request):
    """Send a message like `testing.send`, retrying while the storage is unavailable.

    On a busy machine, a database may take longer than a server waits for it. Repeating the message
    returns the same task.
    """
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                return await testing.send(client, request)
            except A2AClientError as error:
                if "503" not in str(error):
                    raise
                await asyncio.sleep(0.1)
