"""The page at the root of a server."""

from __future__ import annotations

import re

import httpx
import pytest

from a2a_adapters import Adapter, AgentDescription, ServerOptions, Skill, build_app
from a2a_adapters.testing import running

HTML = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


class Traveller(Adapter):
    def describe(self):
        skill = Skill(id="book", name="Book", description="Books <b>flights</b>.")
        return AgentDescription(name="Travel & more", description="Travels.", skills=[skill])

    async def stream(self, request):
        yield "."


@pytest.mark.parametrize("names", [[], ["here", "there"]])
async def test_browsers_get_the_agents_with_their_skills_and_cards(names):
    target = {name: Traveller() for name in names} if names else Traveller()
    async with running(build_app(target, dialects=["page"])) as url, httpx.AsyncClient() as http:
        page = await http.get(url, headers=HTML)
        cards = re.findall(r'href="([^"]+)"', page.text)
        found = [(await http.get(f"{url}/{card}")).json()["name"] for card in cards]
        assert (await http.get(url)).is_error
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert found == (names or ["Travel & more"])
    assert "<li><b>Book</b>: Books &lt;b&gt;flights&lt;/b&gt;.</li>" in page.text
    assert names or "<h1>Travel &amp; more</h1>" in page.text


async def test_browsers_are_redirected_to_the_console_if_there_is_one():
    app = build_app(Traveller(), options=ServerOptions(console=True), dialects=["page"])
    async with running(app) as url, httpx.AsyncClient(follow_redirects=True) as http:
        assert (await http.get(url, headers=HTML)).url.path == "/console/"
