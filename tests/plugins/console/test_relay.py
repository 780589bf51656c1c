"""The console for remote agents, and its checks of agents."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

import httpx
import pytest
from a2a_adapters_console.pages import ConsoleAgent, console_routes
from a2a_adapters_console.relay import RelayedAgent, build_relay
from playwright.async_api import expect
from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from a2a_adapters import ServerOptions, build_app
from a2a_adapters.security import BearerTokens
from a2a_adapters.testing import running
from tests.plugins.console.agents import clerk, travel
from tests.plugins.console.test_chat import say

pytestmark = pytest.mark.asyncio(loop_scope="session")


@asynccontextmanager
async def relayed(*targets, options=None, headers=None):
    """Run a server per target, and yield the URL of a relay for all."""
    app = build_app({each.__name__: each for each in targets}, options=options)
    async with running(app) as url:
        agents = [RelayedAgent(t.__name__, f"{url}/agents/{t.__name__}") for t in targets]
        async with running(build_relay(agents, headers=headers)) as console:
            yield console


@pytest.mark.thorough
async def test_chatting_with_remote_agents(open_page):
    async with relayed(travel, clerk) as url, open_page(url, "travel") as page:
        await say(page, "book it")
        await page.locator("form.form").get_by_label("City").select_option("Oslo")
        await expect(page.locator(".timeline")).to_contain_text("1 tool call, 1 step")
        await page.get_by_role("button", name="Answer").click()
        await expect(page.get_by_text("Booked: 3 nights in Oslo.")).to_be_visible()
        await page.get_by_role("tab", name="Tasks").click()
        await expect(page.locator(".task")).to_have_count(1)
        await page.get_by_label("Agent", exact=True).select_option("clerk")
        await say(page, "hello")
        await expect(page.get_by_text("What is your name?")).to_be_visible()


async def test_a_request_without_end_is_refused():
    async def endless():
        for _ in range(17):
            yield b" " * 1024 * 1024

    async with relayed(clerk) as url, httpx.AsyncClient() as http:
        answer = await http.post(f"{url}/agents/1/", content=endless())
    assert answer.status_code == 413


@pytest.mark.thorough
async def test_a_token_is_typed_into_the_page(open_page):
    options = ServerOptions(authentication=BearerTokens({"secret-of-ada": "ada"}))
    async with relayed(clerk, options=options) as url, open_page(url) as page:
        await say(page, "hello")
        await expect(page.get_by_role("alert")).to_contain_text("wants credentials")
        await type_token(page, "Bearer secret-of-ada")
        await say(page, "hello")
        await expect(page.get_by_text("What is your name?")).to_be_visible()


async def type_token(page, token):
    await page.get_by_role("button", name="Headers").click()
    await page.get_by_label("Value").first.fill(token)
    await page.get_by_role("button", name="Use", exact=True).click()


async def test_headers_of_the_command_line_are_sent_and_hidden_from_the_page():
    options = ServerOptions(authentication=BearerTokens({"secret-of-ada": "ada"}))
    headers = {"Authorization": "Bearer secret-of-ada"}
    async with relayed(clerk, options=options, headers=headers) as url, httpx.AsyncClient() as http:
        call = {"jsonrpc": "2.0", "id": 1, "method": "ListTasks", "params": {}}
        answer = await http.post(f"{url}/agents/1/", json=call, headers={"A2A-Version": "1.0"})
        assert answer.json()["result"]["tasks"] == []
        assert "secret" not in (await http.get(f"{url}/console/agents.json")).text


async def test_an_agent_listed_by_another_host_gets_no_headers():
    inner, sent = build_app(clerk), []

    async def app(scope, receive, send):
        sent.extend(scope.get("headers", ()))
        await inner(scope, receive, send)

    async with running(app) as url:
        agents = [RelayedAgent("clerk", url, named_by="http://127.0.0.1:1")]
        relay = build_relay(agents, headers={"Authorization": "Bearer secret-of-ada"})
        async with running(relay) as console, httpx.AsyncClient(base_url=console) as http:
            call = {"jsonrpc": "2.0", "id": 1, "method": "ListTasks", "params": {}}
            answer = await http.post("/agents/1/", json=call, headers={"A2A-Version": "1.0"})
            assert answer.json()["result"]["tasks"] == []
            assert (await http.post("/console/check/0")).status_code == 200
    assert sent
    assert not [value for _, value in sent if b"secret-of-ada" in value]


async def test_only_the_given_agents_are_reachable():
    async with relayed(clerk) as url, httpx.AsyncClient(base_url=url) as http:
        call = {"jsonrpc": "2.0", "id": 1, "method": "ListTasks", "params": {}}
        assert (await http.post("/agents/2/", json=call)).status_code == 404
        assert (await http.post("/agents/http://evil.example/", json=call)).status_code == 404


async def test_other_origins_are_refused():
    async with relayed(clerk) as url, httpx.AsyncClient(base_url=url) as http:
        for headers in ({"Host": "evil.example"}, {"Origin": "https://evil.example"}):
            answer = await http.post("/agents/1/", json={}, headers=headers)
            assert answer.status_code in {403, 421}
            assert (await http.get("/console/", headers=headers)).status_code in {403, 421}


@pytest.mark.thorough
async def test_an_unreachable_agent_is_reported(open_page):
    app = build_relay([RelayedAgent("nobody", "http://127.0.0.1:9")])
    async with running(app) as url, open_page(url, may_fail=True) as page:
        await expect(page.locator(".welcome .bad")).to_contain_text("cannot be reached")


@pytest.mark.thorough
async def test_chatting_with_an_agent_of_0_3(open_page):
    """The card lists only A2A 0.3, so the relay uses it."""
    app = build_app(clerk)
    async with running(app) as served:
        async with httpx.AsyncClient() as http:
            card = (await http.get(f"{served}/.well-known/agent.json")).json()
        card = {name: value for name, value in card.items() if name != "supportedInterfaces"}

        async def old_card(_request):
            return JSONResponse({**card, "protocolVersion": "0.3.0", "url": f"{served}/"})

        old = Starlette(routes=[Route("/.well-known/agent-card.json", old_card)])
        async with running(old) as place:
            relay = build_relay([RelayedAgent("old", place)])
            async with running(relay) as url, open_page(url) as page:
                await expect(page.get_by_role("tabpanel")).to_contain_text("JSONRPC 0.3")
                await say(page, "hello")
                await expect(page.get_by_text("What is your name?")).to_be_visible()
                await say(page, "Ada")
                await expect(page.get_by_text("Hello Ada!")).to_be_visible()
                await page.reload()
                await expect(page.get_by_text("Hello Ada!")).to_be_visible()
                await expect(page.locator(".said.user")).to_have_text(["hello", "Ada"])


@pytest.mark.thorough
async def test_headers_typed_for_one_server_go_to_no_other(open_page):
    seen = []

    async def other(scope, receive, send):
        if scope["type"] == "http":
            seen.append(dict(scope["headers"]))
            await JSONResponse({}, 404)(scope, receive, send)

    async with running(build_app(clerk)) as url, running(other) as elsewhere:
        agents = [RelayedAgent("clerk", url), RelayedAgent("other", elsewhere)]
        async with running(build_relay(agents)) as relay, open_page(relay, may_fail=True) as page:
            await type_token(page, "Bearer secret-of-ada")
            await say(page, "hello")
            await expect(page.get_by_text("What is your name?")).to_be_visible()
            await page.get_by_label("Agent", exact=True).select_option("other")
            await page.get_by_role("button", name="Headers").click()
            await expect(page.get_by_label("Value").first).to_have_value("")
            await page.get_by_role("button", name="Use", exact=True).click()
            await say(page, "hello")
            await expect(page.get_by_role("alert").first).to_be_visible()
    assert seen
    assert not [headers for headers in seen if b"authorization" in headers]


async def test_one_check_of_an_agent_runs_at_a_time():
    asked, may_answer = asyncio.Event(), asyncio.Event()

    async def card(request):
        asked.set()
        await may_answer.wait()
        return Response(status_code=404)

    agent = Starlette(routes=[Route("/{path:path}", card)])
    async with running(agent) as slow:
        console = console_routes([ConsoleAgent(name, "/", url=slow) for name in ("one", "two")])
        checks = Starlette(routes=console.calls)
        async with running(checks) as url, httpx.AsyncClient(timeout=60) as http:
            first = asyncio.create_task(http.post(f"{url}/console/check/0"))
            await asked.wait()
            asked.clear()
            refused = await http.post(f"{url}/console/check/0")
            assert refused.status_code == 429
            assert "is being checked" in refused.json()["error"]["message"]
            other = asyncio.create_task(http.post(f"{url}/console/check/1"))
            await asked.wait()
            may_answer.set()
            again = http.post(f"{url}/console/check/0")
            for each in (first, other, again):
                assert (await each).status_code in {200, 502}
