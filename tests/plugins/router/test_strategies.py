"""Order of deployments, and sharing of calls within a group."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager

import pytest

from a2a_adapters import RemoteRefusedError, RemoteTaskError
from tests.plugins.router.providers import Provider, deployed, routed, served


@pytest.fixture(autouse=True)
def _a_minute_begins(monkeypatch):
    """Start each test with a minute of the clock: limits per minute are counted by these."""
    read, late = time.time, time.time() % 60
    monkeypatch.setattr(time, "time", lambda: read() - late)


@asynccontextmanager
async def grouped(one=None, two=None, settings=None, **providers):
    """Serve a group `pair` of the providers `one` and `two` with their settings."""
    providers = {"one": Provider(), "two": Provider(), **providers}
    async with deployed(**providers) as found:
        for each, more in zip(found, (one, two), strict=False):
            each["litellm_params"] |= more or {}
            each |= {"id": each["model_name"], "model_name": "pair"}
        prices = {name: {"input": 0} for name in providers}
        listed = {"model_list": found, "prices": prices, **(settings or {})}
        async with served(**listed) as agent:
            yield agent, providers


async def answered(agent, number=1, **asked):
    """Return the deployments that answer concurrent calls."""
    texts = [f"hello {n}" for n in range(number)]
    replies = await asyncio.gather(*(agent.send(text, metadata=asked) for text in texts))
    return [reply.metadata["model"] for reply in replies]


async def test_deployments_of_a_group_share_its_calls():
    async with grouped() as (agent, _):
        assert set(await answered(agent, 30, model="pair")) == {"one", "two"}
        assert await answered(agent, 2, model="two") == ["two", "two"]


@pytest.mark.parametrize(
    ("one", "two"),
    [({}, {"weight": 1}), ({"order": 2}, {"order": 1}), ({}, {"order": 1}), ({}, {"rpm": 1000})],
)
async def test_weight_and_order_determine_fallbacks(one, two):
    async with grouped(one, two) as (agent, providers):
        assert set(await answered(agent, 10)) == {"two"}
        providers["two"].status = 500
        assert await answered(agent) == ["one"]


async def test_limits_per_minute_are_enforced():
    async with grouped({"rpm": 2}, {"tpm": 300, "weight": 0}) as (agent, providers):
        replies = await asyncio.gather(
            *(agent.send("hello") for _ in range(12)), return_exceptions=True
        )
    assert len(providers["one"].calls) == 2
    assert 1 <= len(providers["two"].calls) <= 10
    refused = [each for each in replies if isinstance(each, RemoteTaskError)]
    assert len(refused) == 12 - sum(len(each.calls) for each in providers.values())


async def test_tags_choose_deployments():
    async with grouped({"tags": ["eu", "cheap"]}, {"tags": ["us", "default"]}) as (agent, _):
        assert set(await answered(agent, 5, tags=["eu"])) == {"one"}
        assert set(await answered(agent, 5)) == {"two"}
        assert set(await answered(agent, 5, tags=["mars"])) == {"two"}
    async with grouped({"tags": ["eu"]}) as (agent, _):
        assert set(await answered(agent, 30)) == {"one", "two"}
        with pytest.raises(
            RemoteRefusedError, match="no model of the route has one of the tags mars"
        ):
            await answered(agent, tags=["mars"])


async def test_aliases_and_fallbacks_lead_to_other_names():
    settings = {
        "router_settings": {
            "model_group_alias": {"twins": "pair"},
            "fallbacks": [{"pair": ["three"]}],
        }
    }
    async with grouped(settings=settings, three=Provider()) as (agent, providers):
        providers["one"].status = providers["two"].status = 500
        assert await answered(agent, model="twins") == ["three"]
    async with grouped(settings=settings, three=Provider()) as (agent, _):
        assert set(await answered(agent, 5, model="twins")) <= {"one", "two"}


async def test_allowed_failures_start_no_cooldown():
    settings = {"allowed_fails": 1, "strategy": "cheapest", "prices": {}}
    settings["prices"] = {"one": {"input": 0}, "two": {"input": 1}}
    async with grouped(settings=settings) as (agent, providers):
        providers["one"].status = 500
        assert await answered(agent) + await answered(agent) + await answered(agent) == ["two"] * 3
    assert len(providers["one"].calls) == 2


async def test_a_deployments_own_retries_and_cooldown_count():
    async with grouped({"num_retries": 2, "cooldown_time": 0, "order": 1}) as (agent, providers):
        providers["one"].status = 500
        assert await answered(agent) + await answered(agent) == ["two", "two"]
    assert len(providers["one"].calls) == 6


async def test_a_model_with_a_short_context_is_skipped():
    info = {"model_info": {"max_input_tokens": 20}}
    async with deployed(one=Provider(), two=Provider()) as (one, two):
        prices = {"one": {"input": 0}, "two": {"input": 0}}
        async with served(model_list=[{**one, **info}, two], prices=prices) as agent:
            assert (await agent.send("hello")).metadata["model"] == "one"
            reply = await agent.send("hello " * 50)
    assert reply.metadata["model"] == "two"
    assert "limit is 20 tokens" in reply.metadata["resilience_trace"][0]["reason"]


async def test_each_combo_may_have_a_strategy():
    providers = {name: Provider() for name in ("one", "two", "three")}
    async with deployed(**providers) as (one, two, three):
        route = ["one", "two", "three"]
        settings = {
            "deployments": [one, {**two, "quality": 5}, {**three, "quality": 2}],
            "prices": {"one": {"output": 9}, "two": {"output": 5}, "three": {"output": 1}},
            "quotas": [
                {"deployment": name, "per": "month", "requests": 9} for name in ("two", "three")
            ],
            "strategy": "cheapest",
            "combos": {
                "plain": route,
                "best": {"route": route, "strategy": "quality"},
                "ample": {"route": route, "strategy": "most-quota"},
                "first": {"route": route, "strategy": "order"},
            },
        }
        async with served(**settings) as agent:
            found = [await answered(agent, combo=combo) for combo in settings["combos"]]
    assert found == [["three"], ["two"], ["one"], ["one"]]


async def test_the_least_busy_and_drawn_by_weight():
    async with grouped(settings={"strategy": "least-busy"}) as (agent, providers):
        one, two = providers.values()
        one.gate, one.asked = two.gate, two.asked = asyncio.Event(), asyncio.Event()
        asking = []
        for _ in range(10):
            one.asked.clear()
            asking.append(asyncio.ensure_future(agent.send("hello")))
            await one.asked.wait()
        assert len(one.calls) == len(two.calls) == 5
        one.gate.set()
        await asyncio.gather(*asking)
    async with grouped({"weight": 1}, {"weight": 0}, {"strategy": "weighted"}) as (agent, _):
        assert set(await answered(agent, 10)) == {"one"}


async def test_the_fastest_is_measured_once_its_libraries_are_imported():
    slow, quick = Provider(), Provider()
    async with routed({"slow": slow, "quick": quick}, strategy="fastest") as agent:
        await answered(agent, model="slow")
        await answered(agent, model="quick")
        slow.gate = asyncio.Event()
        asking = asyncio.ensure_future(answered(agent, model="slow"))
        async with asyncio.timeout(60):
            while len(slow.calls) < 2:
                await slow.asked.wait()
                await answered(agent, model="quick")
        slow.gate.set()
        await asking
        assert await answered(agent) == ["quick"]


async def test_a_dead_model_is_not_the_fastest():
    providers = {"dead": Provider(status=500), "slow": Provider()}
    async with routed(providers, strategy="fastest", cooldown_seconds=0) as agent:
        for _ in range(4):
            assert await answered(agent) == ["slow"]
    assert len(providers["dead"].calls) == 1
