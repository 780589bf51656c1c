"""Questions about quotas in natural language, answered from actual usage."""

from __future__ import annotations

import pytest

from tests.plugins.router.providers import Provider, routed

PRICES = {"paid": {"input": 1, "output": 2}}
QUOTAS = [
    {"deployment": "paid", "per": "day", "requests": 10, "usd": 1},
    {"deployment": "free", "per": "day", "requests": 2},
]


async def ask(agent, question):
    return await agent.send(question, metadata={"skill": "quota-management"})


@pytest.fixture
async def agent():
    providers = {"paid": Provider(), "free": Provider()}
    combos = {"thrifty": ["free"], "rich": ["paid", "free"]}
    async with routed(providers, prices=PRICES, quotas=QUOTAS, combos=combos) as agent:
        await agent.send("hello", metadata={"model": "paid"})
        yield agent


async def test_a_ranking_starts_with_the_largest_remainder(agent):
    reply = await ask(agent, "Who has the most quota?")
    assert reply.text.startswith("Most quota left first:\n1. free")
    assert [each["deployment"] for each in reply.data[0]] == ["free", "paid"]
    await agent.send("hello", metadata={"model": "free"})
    reply = await ask(agent, "ranking please")
    assert [each["deployment"] for each in reply.data[0]] == ["paid", "free"]
    paid = reply.data[0][0]
    assert paid["quotas"][0]["used"]["requests"] == 1
    assert paid["quotas"][0]["left"]["requests"] == 9
    assert paid["quotas"][0]["resets_at"].endswith("00:00:00+00:00")
    assert paid["usd_per_million_output_tokens"] == 2


async def test_free_models_are_suggested(agent):
    reply = await ask(agent, "Suggest something free")
    assert reply.text.startswith("Free to use:\n1. free")
    assert "paid" not in reply.text
    assert "Free combos: thrifty" in reply.text
    assert "rich" not in reply.text


async def test_a_summary_warns_of_low_quotas(agent):
    assert "Warning" not in (await ask(agent, "How are things?")).text
    for _ in range(2):
        await agent.send("hello", metadata={"model": "free"})
    assert "Warning: low quota for free." in (await ask(agent, "How are things?")).text


async def test_no_model_is_called(agent):
    reply = await ask(agent, "What is the best?")
    assert reply.metadata.get("model") is None
