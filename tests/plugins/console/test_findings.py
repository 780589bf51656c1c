"""The page's checks of agents."""

from __future__ import annotations

import asyncio

import httpx
from a2a_adapters_console.pages import ConsoleAgent, console_routes
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

from a2a_adapters.testing import running


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
