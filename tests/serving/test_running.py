"""An app served in the test's own event loop leaves nothing open."""

from __future__ import annotations

import asyncio
import gc
import socket
from urllib.parse import urlsplit

import pytest

from a2a_adapters import build_app
from a2a_adapters.testing import running


@pytest.mark.parametrize("turns", range(5))
async def test_a_connection_that_is_just_being_accepted_is_closed(turns):
    async with running(build_app(lambda text: text)) as url:
        address = urlsplit(url)
        client = socket.create_connection((address.hostname, address.port))
        for _ in range(turns):
            await asyncio.sleep(0)
    client.close()
    gc.collect()  # unclosed resources raise warnings, which are errors
