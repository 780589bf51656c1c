"""A router with a real OmniRoute gateway and other deployments; needs node and npm."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT))

from a2a_adapters_omniroute import OmniRouteClient  # noqa: E402 - found only now
from a2a_adapters_router import Router, RouterConfig  # noqa: E402

from a2a_adapters import RemoteAgent, build_app  # noqa: E402
from a2a_adapters.testing import running  # noqa: E402
from tests.end_to_end.omniroute.gateway import configure, gateway, installed  # noqa: E402
from tests.plugins.router.providers import ANSWER, KEY, Provider, deployment  # noqa: E402

MODEL = "local/m"
OTHER = "Another answer."


def router(url: str, other: str) -> Router:
    """Return a router with the gateway's models, the gateway as an agent, and a provider."""
    params = {"model": f"openai/{MODEL}", "api_base": f"{url}/v1"}
    through = {**params, "api_key": "os.environ/GATEWAY_KEY"}
    return Router(
        RouterConfig(
            deployments=[
                {
                    "model_name": "models",
                    "litellm_params": through,
                    "provider": "omniroute",
                    "max_tokens": 100,
                },
                {
                    "model_name": "agent",
                    "agent": f"{url}/a2a",
                    "token": "os.environ/GATEWAY_KEY",
                    "metadata": {"model": MODEL},
                    "provider": "omniroute",
                },
                deployment("other", other),
            ],
            combos={"all": ["models", "other"], "agents": ["agent", "other"]},
            active="all",
            prices={"models": {"input": 1, "output": 2}, "agent": {"request": 0.01}, "other": {}},
            quotas=[{"provider": "omniroute", "per": "day", "usd": 1}],
            cooldown_seconds=0,
        )
    )


async def main() -> None:
    os.environ["ROUTER_KEY"] = KEY
    app = installed(ROOT / ".demo" / "omniroute")
    behind, other = Provider(), Provider(answer=OTHER)
    with tempfile.TemporaryDirectory() as data:
        async with running(behind.app) as provider, running(other.app) as beside:
            with gateway(app, Path(data)) as url:
                os.environ["GATEWAY_KEY"] = configure(url, provider, KEY)
                served = build_app(router(url, beside), dialects=["omniroute"])
                async with running(served) as address, RemoteAgent(address) as agent:
                    await check(agent, behind)
                    await check_door(address)


async def check(agent: RemoteAgent, behind: Provider) -> None:
    """Use the gateway in both ways, with and without a working provider."""
    reply = await agent.send("hello there")
    assert (reply.text, reply.metadata["model"]) == (ANSWER, "models"), reply
    assert reply.metadata["cost_envelope"]["actual"] > 0
    print("the gateway's model:", reply.metadata["routing_explanation"])
    reply = await agent.send("hello there", metadata={"combo": "agents"})
    assert (reply.text, reply.metadata["model"]) == (ANSWER, "agent"), reply
    print("the gateway as an agent:", reply.metadata["routing_explanation"])
    behind.status = 500
    for combo in ("all", "agents"):
        reply = await agent.send("hello there", metadata={"combo": combo})
        assert (reply.text, reply.metadata["model"]) == (OTHER, "other"), reply
        print("a gateway that fails:", reply.metadata["routing_explanation"])
    quotas = await agent.send("ranking", metadata={"skill": "quota-management"})
    print(quotas.text)


async def check_door(address: str) -> None:
    """Call the router with OmniRoute's client."""
    client = OmniRouteClient(address)
    reply = await client.send("smart-routing", "hello there", {})
    assert reply.text == OTHER
    assert reply.cost_envelope["currency"] == "USD"
    await client.aclose()
    print("OmniRoute's clients are served as by a gateway")


if __name__ == "__main__":
    asyncio.run(main())
