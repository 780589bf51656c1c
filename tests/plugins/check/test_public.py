"""Agents at public URLs, served in process without a socket."""

from __future__ import annotations

import httpx
import pytest
from a2a_adapters_check.http_client import HttpClient
from a2a_adapters_check.runner import examine

from tests.plugins.check.broken import Broken
from tests.plugins.check.card_seeds import interface
from tests.plugins.check.support import sound

URL = "https://agents.example.org"


async def found_at(url, app):
    """Return the ids of the findings for a card at a URL."""
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport) as http:
        line = HttpClient(lambda _: http, None, patience=8)
        address = httpx.URL(url)
        report = await examine(line, address, send=False, has_credentials=False, seconds=30)
    return {each.id for each in report.findings}


@pytest.mark.parametrize(
    ("url", "found"),
    [
        (URL, {"security.hsts"}),
        ("http://agents.example.org", {"address.https"}),
        ("http://localhost:8000", {"security.rebinding"}),
        ("http://192.168.0.7", set()),
    ],
)
async def test_an_agent_by_its_address(url, found):
    assert await found_at(url, sound(allowed_hosts=["*"])) == found


@pytest.mark.parametrize(
    "inner", ["https://localhost/", "http://10.1.2.3/", "https://agent.internal/", "http://[::1]/"]
)
async def test_addresses_that_others_cannot_reach(inner):
    app = Broken(sound(allowed_hosts=["*"]), interface(url=inner))
    assert "address.routable" in await found_at(URL, app)
