"""Decisions, calls and costs are counted for Prometheus."""

from __future__ import annotations

import pytest
from prometheus_client import REGISTRY

from a2a_adapters import RemoteAgentError
from tests.plugins.router.providers import Provider, routed

PRICES = {"one": {"request": 1}, "two": {"request": 0.25, "output": 1000}}


async def test_decisions_calls_and_costs_are_counted():
    providers = {"one": Provider(failures=1), "two": Provider()}
    async with routed(providers, prices=PRICES, name="counted") as agent:
        await agent.send("hello there")
        await agent.send("hello there", metadata={"model": "two"})
        with pytest.raises(RemoteAgentError):
            await agent.send("?", metadata={"model": "two", "budget": 0.1})

    def counted(name, **labels):
        about = {"model": "two", "provider": "openai"} if "model" not in labels else {}
        return REGISTRY.get_sample_value(name, {"router": "counted", **about, **labels})

    assert {
        outcome: REGISTRY.get_sample_value(
            "a2a_router_decisions_total", {"router": "counted", "outcome": outcome}
        )
        for outcome in ("answered", "refused")
    } == {"answered": 2, "refused": 1}
    assert counted("a2a_router_call_seconds_count", outcome="answered") == 2
    failed = {"model": "one", "provider": "openai", "outcome": "failed"}
    assert counted("a2a_router_call_seconds_count", **failed) == 1
    assert counted("a2a_router_cost_usd_total") == pytest.approx(2 * (0.25 + 9 * 0.001))
    assert counted("a2a_router_tokens_total", direction="input") == 4
    assert counted("a2a_router_tokens_total", direction="output") == 18
    assert counted("a2a_router_events_total", event="fallback_selected") == 1
    assert counted("a2a_router_events_total", event="quota_skipped") == 1
