"""Uses of agents from guides to A2A and OmniRoute, with clients like those in the guides.

    pip install 'a2a-adapters[router,langchain]'
    python examples/described_uses.py [USE]

A router over two agents, one of which is free, replaces the gateway.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import httpx
from a2a_adapters_omniroute import OmniRouteA2A, OmniRouteClient
from a2a_adapters_router import Router

from a2a_adapters import RemoteTimeoutError, build_app
from a2a_adapters.testing import running

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

ASKED = [{"role": "user", "content": "Write a test."}]


async def model(text: str) -> str:
    """Stand in for a language model; never answer a request to wait."""
    if text == "Wait.":
        await asyncio.Event().wait()
    return "assert add(1, 2) == 3"


class Gateway:
    """The described clients' requests: JSON-RPC over HTTP, without a library."""

    def __init__(self, url: str, http: httpx.AsyncClient, file: Path) -> None:
        self.url = url
        self.file = file
        self._http = http

    async def card(self) -> dict[str, Any]:
        return (await self._http.get(f"{self.url}/.well-known/agent.json")).json()

    async def call(self, method: str, params: dict[str, Any], path: str = "/a2a") -> dict[str, Any]:
        body = {"jsonrpc": "2.0", "id": "1", "method": method, "params": params}
        return (await self._http.post(self.url + path, json=body)).json()

    async def send(self, skill: str = "smart-routing", **metadata: Any) -> dict[str, Any]:
        params = {"skill": skill, "messages": ASKED, "metadata": metadata}
        return (await self.call("message/send", params))["result"]

    async def stream(self, text: str) -> AsyncGenerator[dict[str, Any]]:
        params = {"skill": "smart-routing", "messages": [{"role": "user", "content": text}]}
        body = {"jsonrpc": "2.0", "id": "1", "method": "message/stream", "params": params}
        async with self._http.stream("POST", f"{self.url}/a2a", json=body) as response:
            async for line in response.aiter_lines():
                if line.startswith("data: "):
                    yield json.loads(line.removeprefix("data: "))["params"]


@asynccontextmanager
async def gateway() -> AsyncGenerator[Gateway]:
    """Serve the router."""
    async with running(build_app({"good": model, "free": model})) as agents:
        with TemporaryDirectory() as folder:
            file = Path(folder) / "router.yaml"
            deployments = [
                {"model_name": name, "agent": f"{agents}/agents/{name}"}
                for name in ("good", "free")
            ]
            settings = {
                "deployments": deployments,
                "prices": {"good": {"request": 0.01}, "free": {"request": 0}},
                "combos": {"best": ["good"], "free": ["free"]},
                "active": "best",
                "history": {"folder": "history"},
            }
            file.write_text(json.dumps(settings))  # JSON is YAML, too
            app = build_app(Router.from_file(file), dialects=["omniroute"])
            async with running(app) as url, httpx.AsyncClient(timeout=60) as http:
                yield Gateway(url, http, file)


async def orchestrator(gateway: Gateway) -> str:
    card = await gateway.card()
    assert {"smart-routing", "quota-management"} <= {skill["id"] for skill in card["skills"]}
    result = await gateway.send(model="auto")
    assert result["metadata"]["routing_explanation"]
    return f"{result['task']['state']}, ${result['metadata']['cost_envelope']['actual']}"


async def pipeline(gateway: Gateway) -> str:
    steps = [await gateway.send(), await gateway.send()]
    return f"${sum(step['metadata']['cost_envelope']['actual'] for step in steps)}"


async def swarm(gateway: Gateway) -> str:
    quota = await gateway.send("quota-management")
    assert quota["artifacts"][0]["content"]
    result = await gateway.send(budget=0.001)
    if not result["metadata"]["policy_verdict"]["allowed"]:
        result = await gateway.send(budget=0.001, combo="free")
    return f"{result['task']['state']}, ${result['metadata']['cost_envelope']['actual']}"


async def llm(gateway: Gateway) -> str:
    called = OmniRouteA2A(base_url=gateway.url, model="auto")
    return await asyncio.to_thread(called, "Write a test.")


async def dashboard(gateway: Gateway) -> str:
    events = [event async for event in gateway.stream("Write a test.")]
    assert events[-1]["metadata"]["resilience_trace"]
    text = "".join(event["chunk"]["content"] for event in events if "chunk" in event)
    return f"{events[-1]['task']['state']}: {text}"


async def polling(gateway: Gateway) -> str:
    stream = gateway.stream("Wait.")
    task_id = (await anext(stream))["task"]["id"]
    async with OmniRouteClient(gateway.url) as client:
        with suppress(RemoteTimeoutError):
            await client.wait(task_id, timeout=0.2, interval=0.05)
    assert [event["task"]["state"] async for event in stream][-1] == "cancelled"
    return (await gateway.call("tasks/get", {"taskId": task_id}))["result"]["task"]["state"]


async def log(gateway: Gateway) -> str:
    await gateway.send()
    await gateway.send(combo="free")
    sums, decisions = await asyncio.gather(queried(gateway, "spend"), queried(gateway, "history"))
    costs = {row["model"]: row["usd"] / row["calls"] for row in sums}
    last = decisions[-1]
    return f"{last['outcome']} by {last['model']}; a call of good: ${costs['good']:.2f}"


async def queried(gateway: Gateway, action: str) -> list[dict[str, Any]]:
    """Return the output of `a2a-adapters router` about the router's log."""
    command = ["-m", "a2a_adapters", "router", action, str(gateway.file), "--json"]
    query = await asyncio.create_subprocess_exec(sys.executable, *command, stdout=subprocess.PIPE)
    printed, _ = await query.communicate()
    return [json.loads(line) for line in printed.splitlines()]


async def draft(gateway: Gateway) -> str:
    return (await gateway.call("tasks/send", {"id": "1"}, "/"))["error"]["message"]


async def aliases(gateway: Gateway) -> str:
    parts = [{"kind": "text", "text": "Write a test."}]
    message = {"kind": "message", "messageId": "1", "role": "user", "parts": parts}
    task = (await gateway.call("message/send", {"message": message}, "/"))["result"]
    listed = await gateway.call("tasks/list", {"contextId": task["contextId"]}, "/")
    return (
        f"{listed['result']['totalSize']} task, {listed['result']['tasks'][0]['status']['state']}"
    )


USES = {
    use.__name__: use
    for use in (orchestrator, pipeline, swarm, llm, dashboard, polling, log, draft, aliases)
}


async def main(*names: str) -> None:
    async with gateway() as served:
        for name in names or USES:
            print(f"{name}: {await USES[name](served)}")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
