"""`a2a-adapters console`: the agents listed on its page."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

import httpx
import pytest

from a2a_adapters import build_app
from tests.plugins.console.agents import clerk
from tests.support.processes import Server
from tests.support.tls import running_with_tls
from tests.support.warm import warm

pytestmark = pytest.mark.asyncio(loop_scope="module")


@asynccontextmanager
async def console(agent, *options):
    """Run the command for an agent; yield the address of its server."""
    command = warm("-m", "a2a_adapters", "console", agent, "--port", "0", *options)
    process = await asyncio.to_thread(Server, command, None)
    try:
        found = await asyncio.to_thread(process.said, r"console at (http://\S+)/console")
        yield found[1]
    finally:
        process.terminate()
        await asyncio.to_thread(process.ended)
        process.close()


async def test_an_agent_listed_by_a_host_is_named(server):
    host = server.removeprefix("http://")
    async with console(f"{host}#parts") as url, httpx.AsyncClient(base_url=url) as http:
        [agent] = (await http.get("/console/agents.json")).json()["agents"]
        card = (await http.get("/agents/1/.well-known/agent-card.json")).json()
    assert agent["name"] == f"{host}#parts"
    assert agent["url"].startswith(f"{server}/agents/parts/")
    assert card["name"] == "parts"


async def test_unverified_certificates_are_accepted_on_request():
    async with (
        running_with_tls(build_app(clerk)) as remote,
        console(remote, "--insecure") as url,
        httpx.AsyncClient(base_url=url, timeout=60) as http,
    ):
        card = (await http.get("/agents/1/.well-known/agent-card.json")).json()
        found = await http.post("/console/check/0", headers={"Origin": url})
    assert card["name"] == "clerk"
    assert found.status_code == 200, found.text


async def test_an_agent_not_listed_by_a_host_is_reported(server, run):
    done = await run("console", f"{server}#nobody", "--port", "0")
    assert done.returncode == 3
    assert "lists no agent 'nobody'" in done.stderr
