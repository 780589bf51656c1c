"""Health checks as platforms ask for them."""

from __future__ import annotations

import httpx
import pytest

from a2a_adapters import BearerTokens, ServerOptions, build_app
from tests.support.requests import client_of

PATHS = ["/livez", "/readyz", "/healthz", "/ping"]


async def echo(text):
    """Repeat."""
    return text


@pytest.mark.parametrize("path", ["/", *PATHS])
@pytest.mark.parametrize("verb", ["GET", "HEAD"])
@pytest.mark.parametrize("target", [echo, {"one": echo}], ids=["one", "several"])
async def test_every_path_answers_without_credentials(path, verb, target):
    options = ServerOptions(authentication=BearerTokens({"secret": "ann"}), health_paths=["/ping"])
    async with client_of(build_app(target, options=options, dialects=["page"])) as http:
        answer = await http.request(verb, path)
    assert answer.status_code == 200
    assert bool(answer.content) == (verb == "GET")


async def test_any_host_and_page_may_ask_for_health_only():
    app = build_app(echo, options=ServerOptions(health_paths=["/ping"], root_path="/team"))
    foreign = {"Host": "10.0.0.7:8080", "Origin": "https://status.example"}
    async with client_of(app, foreign) as http:
        assert [(await http.get(path)).status_code for path in PATHS] == [200] * 4
        assert (await http.get("/team/healthz")).status_code == 200
        assert (await http.get("/agents")).status_code == 421
        assert (await http.get("/tasks/healthz")).status_code == 421


async def test_the_root_lists_the_agents_for_machines_and_people():
    async with client_of(build_app(echo, dialects=["page"])) as http:
        listed = await http.get("/")
        page = await http.get("/", headers={"Accept": "text/html"})
        same = await http.get("/agents")
    assert listed.json() == same.json()
    assert [each["name"] for each in listed.json()["agents"]] == ["echo"]
    assert page.headers["content-type"].startswith("text/html")


async def test_own_health_paths_say_that_the_server_drains():
    app = build_app(echo, options=ServerOptions(health_paths=["/ping"]))
    async with app.router.lifespan_context(app):
        await app.state.agents.drain()
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
            for path in ("/readyz", "/healthz", "/ping"):
                answer = await http.get(path)
                assert (answer.status_code, answer.json()) == (503, {"status": "draining"})
            assert (await http.get("/livez")).status_code == 200
