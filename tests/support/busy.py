"""Calls that wait for a busy machine."""

from __future__ import annotations

import asyncio

from a2a.client.errors import A2AClientError

from a2a_adapters import testing
from tests.support.processes import PATIENCE


async def send(client, request):
    """Send a message as `testing.send` does, and again while its storage is unavailable.

    Beside other work, a database may take longer than a server waits for it. The same message sent
    again returns the same task.
    """
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                return await testing.send(client, request)
            except A2AClientError as error:
                if "503" not in str(error):
                    raise
                await asyncio.sleep(0.1)
