"""Budgets and quotas are enforced, and costs are reported and counted exactly."""

from __future__ import annotations

import asyncio

import pytest
from prometheus_client import REGISTRY

from a2a_adapters import RemoteAgentError, RemoteTaskError, ServerOptions
from tests.plugins.router.providers import ANSWER, Provider, leave, routed

PRICES = {"one": {"input": 1000, "output": 2000}, "two": {"input": 10, "output": 20}}
"""USD per million tokens: an input token of "one" costs a tenth of a cent."""

COUNTED_PRICES = {"one": {"request": 1}, "two": {"request": 0.25, "output": 1000}}


async def test_costs_match_the_providers_bills():
    long = "a much longer answer than the other one " * 3
    providers = {"one": Provider(failures=7), "two": Provider(answer=long)}
    async with routed(providers, prices=PRICES, cooldown_seconds=0) as agent:
        texts = [f"question {n} of twenty " + "and more " * n for n in range(20)]
        replies = await asyncio.gather(*map(agent.send, texts))
    assert {reply.metadata["model"] for reply in replies} == {"one", "two"}
    billed = sum(
        (sent * PRICES[name]["input"] + made * PRICES[name]["output"]) / 1e6
        for name, provider in providers.items()
        for sent, made in provider.bills
    )
    reported = sum(reply.metadata["cost_envelope"]["actual"] for reply in replies)
    assert reported == pytest.approx(billed, rel=0.01)


async def test_broken_answers_are_charged():
    providers = {"one": Provider(breaks_after=4, aborts=True), "two": Provider()}
    async with routed(providers, prices=PRICES) as agent:
        reply = await agent.send("hello there")
    envelope = reply.metadata["cost_envelope"]
    assert envelope["actual"] > 4 * 2000 / 1e6


async def test_budgets_of_any_size_are_respected():
    async with routed({"one": Provider()}, prices=PRICES) as agent:
        reply = await agent.send("hello there", metadata={"budget": 1e308})
    assert reply.text == ANSWER


async def test_the_estimate_is_the_worst_case():
    async with routed({"one": Provider()}, prices=PRICES) as agent:
        envelope = (await agent.send("hello there")).metadata["cost_envelope"]
    assert envelope["estimated"] >= 100 * 2000 / 1e6
    assert envelope["actual"] == pytest.approx((2 * 1000 + 9 * 2000) / 1e6)
    assert envelope["currency"] == "USD"


def usage(sent, made):
    return {"prompt_tokens": sent, "completion_tokens": made}


WRONG = [
    None,
    "none",
    usage(0, 0),
    usage(-5, -1_000_000),
    usage(5, -1_000_000),
    usage(10**18, 5),
    usage("many", 5),
    usage(1.5, 5),
    usage(float("nan"), float("inf")),
]


@pytest.mark.parametrize("usage", WRONG)
@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
async def test_missing_usage_is_counted(usage):
    async with routed({"one": Provider(usage=usage)}, prices=PRICES) as agent:
        reply = await agent.send("hello there")
    assert reply.text == ANSWER
    assert 2 <= reply.usage.input_tokens <= 20
    assert 9 <= reply.usage.output_tokens <= 30
    assert reply.metadata["cost_envelope"]["actual"] > 0


async def test_negative_cached_tokens_are_ignored():
    reported = {**usage(2, 9), "prompt_tokens_details": {"cached_tokens": -1_000_000}}
    prices = {"one": {"input": 1000, "cached": 100, "output": 2000}}
    async with routed({"one": Provider(usage=reported)}, prices=prices) as agent:
        envelope = (await agent.send("hello there")).metadata["cost_envelope"]
    assert envelope["actual"] <= envelope["estimated"]


async def test_a_call_over_budget_is_never_made():
    providers = {"one": Provider(), "two": Provider()}
    async with routed(providers, prices=PRICES) as agent:
        with pytest.raises(RemoteTaskError) as caught:
            await agent.send("hello there", metadata={"budget": 0.00001})
        reply = caught.value.reply
        assert reply.state == "rejected"
        assert reply.metadata["policy_verdict"]["allowed"] is False
        assert reply.metadata["error_code"] == -32004
        assert reply.metadata["cost_envelope"]["actual"] == 0
        cheap = await agent.send("hello there", metadata={"budget": 0.001})
    assert providers["one"].calls == []
    assert cheap.metadata["model"] == "two"
    assert cheap.metadata["resilience_trace"][0]["event"] == "quota_skipped"


async def test_truncation_by_a_budget_is_reported():
    one = Provider()
    prices = {"one": {"output": 1_000_000}}
    async with routed({"one": one}, prices=prices, min_tokens=3) as agent:
        reply = await agent.send("hello", metadata={"budget": 4})
        whole = await agent.send("hello", metadata={"budget": 9, "max_tokens": 2})
        with pytest.raises(RemoteTaskError, match=r"budget is .2, and the shortest .* costs .3.00"):
            await agent.send("hello", metadata={"budget": 2})
    assert [call["max_tokens"] for call in one.calls] == [4, 2]
    assert reply.text == "the quick brown fox "
    reported = reply.metadata
    assert reported["cost_envelope"] == {"estimated": 4, "actual": 4, "currency": "USD"}
    assert reported["finish_reason"] == "length"
    cut = "truncated after 4 tokens by the budget of $4"
    assert cut in reported["policy_verdict"]["reason"]
    assert cut in reported["routing_explanation"]
    assert whole.metadata["finish_reason"] == "length"
    assert "cut" not in whole.metadata["policy_verdict"]["reason"]


async def test_truncation_by_a_quota_is_reported():
    quotas = [{"owner": "*", "per": "day", "usd": 20}]
    prices = {"one": {"output": 1_000_000}}
    answer = "word " * 30
    async with routed({"one": Provider(answer=answer)}, prices=prices, quotas=quotas) as agent:
        reply = await agent.send("hello")
        assert "truncated after 20 tokens by a quota" in reply.metadata["routing_explanation"]
        with pytest.raises(RemoteTaskError) as caught:
            await agent.send("hello")
    verdict = caught.value.reply.metadata["policy_verdict"]
    assert "quota per day of the caller: $0 of $20 left, resets 20" in verdict["reason"]
    (event,) = caught.value.reply.metadata["resilience_trace"]
    assert event["resets_at"].endswith("T00:00:00+00:00")


LIMITS = [
    ({"requests": 40}, {"input": 0}),
    ({"usd": 40}, {"request": 1}),
    ({"usd": 40.0}, {"output": 10_000}),
    ({"usd": 4.0}, {"request": 0.1}),
]


@pytest.mark.parametrize(("limit", "price"), LIMITS)
async def test_a_hundred_concurrent_calls_never_overspend(limit, price):
    one = Provider(gate=asyncio.Event())
    quota = {"provider": "openai", "per": "month", **limit}
    async with routed({"one": one}, prices={"one": price}, quotas=[quota]) as agent:
        asking = {asyncio.ensure_future(agent.send(f"hello {n}")) for n in range(100)}
        refused: set = set()
        while len(refused) < 60:
            done, asking = await asyncio.wait(asking, return_when=asyncio.FIRST_COMPLETED)
            refused |= done
        assert len(one.calls) <= 40
        one.gate.set()
        replies = await asyncio.gather(*asking)
    assert len(one.calls) == len(replies) == 40
    assert all(isinstance(each.exception(), RemoteTaskError) for each in refused)


async def test_every_caller_has_a_quota_of_their_own():
    quota = {"owner": "*", "per": "day", "requests": 1}
    async with routed({"one": Provider()}, quotas=[quota]) as agent:
        assert (await agent.send("hello")).text == ANSWER
        with pytest.raises(RemoteTaskError, match="no budget or quota"):
            await agent.send("hello")
        other = await agent.send("hello", metadata={"skill": "quota-management"})
    assert other.data[0][0]["quotas"][0]["left"] == {"requests": 0}


async def test_spending_survives_a_restart(tmp_path):
    options = ServerOptions(storage=f"sqlite:///{tmp_path}/router.db")
    settings = {
        "quotas": [{"deployment": "one", "per": "month", "requests": 2}],
        "prices": PRICES,
    }
    async with routed({"one": Provider()}, options, **settings) as agent:
        await agent.send("hello")
    async with routed({"one": Provider()}, options, **settings) as agent:
        await agent.send("hello")
    async with routed({"one": Provider()}, options, **settings) as agent:
        with pytest.raises(RemoteTaskError, match="no budget or quota"):
            await agent.send("hello")


async def test_leaving_before_the_first_token_costs_the_maximum():
    one = Provider(gate=asyncio.Event())
    quota = {"provider": "openai", "per": "day", "tokens": 1000}
    async with routed({"one": one}, quotas=[quota]) as agent:
        await leave(agent, one)
        asked = {"skill": "quota-management"}
        used = (await agent.send("how much?", metadata=asked)).data[0][0]["quotas"][0]["used"]
    assert used["requests"] == 1
    assert used["tokens"] >= 100


async def test_decisions_calls_and_costs_are_counted():
    providers = {"one": Provider(failures=1), "two": Provider()}
    async with routed(providers, prices=COUNTED_PRICES, name="counted") as agent:
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
