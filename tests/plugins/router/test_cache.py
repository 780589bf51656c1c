"""Cached answers of models are free, if the file enables the cache."""

from __future__ import annotations

import json

import pytest
from a2a_adapters_router import Router, RouterConfig

from a2a_adapters import BearerAuth, BearerTokens, RemoteAgent, ServerOptions, Text, build_app
from a2a_adapters.testing import running
from tests.plugins.router.providers import ANSWER, Provider, deployed, routed, served

PRICES = {"one": {"request": 1}}


async def test_a_repeated_question_is_free(tmp_path):
    one = Provider()
    settings = {"prices": PRICES, "cache": {}, "history": {"folder": str(tmp_path)}}
    quotas = [{"owner": "*", "per": "day", "requests": 1}]
    async with routed({"one": one}, quotas=quotas, **settings) as agent:
        await agent.send("hello")
        reply = await agent.send("hello", metadata={"budget": 0})
    assert len(one.calls) == 1
    assert reply.text == ANSWER
    reported = reply.metadata
    assert reported["cost_envelope"] == {"estimated": 0, "actual": 0, "currency": "USD"}
    assert reported["usage"]["total_tokens"] == 0
    assert [event["event"] for event in reported["resilience_trace"]] == ["cache_hit"]
    assert (reported["model"], reported["finish_reason"]) == ("one", "stop")
    assert reported["policy_verdict"]["allowed"]
    assert reported["routing_explanation"] == "one at openai from the cache: the first of all."
    [log] = tmp_path.iterdir()
    line = json.loads(log.read_text().splitlines()[-1])
    assert (line["outcome"], line["model"], line["calls"]) == ("cached", "one", [])


OTHERS = [
    ("hello!", {}),
    ("hello", {"temperature": 0.5}),
    ("hello", {"max_tokens": 50}),
    ("hello", {"model": "two"}),
    ("hello", {"cache": False}),
    ([Text("hello"), Text("Be brief.", metadata={"role": "system"})], {}),
]


@pytest.mark.parametrize(("content", "metadata"), OTHERS)
async def test_another_question_is_not_cached(content, metadata):
    providers = {"one": Provider(), "two": Provider()}
    async with routed(providers, cache={}) as agent:
        await agent.send("hello")
        await agent.send(content, metadata=metadata)
    assert sum(len(each.calls) for each in providers.values()) == 2


async def test_the_conversation_is_part_of_the_question():
    one = Provider(goes_on=False)
    async with routed({"one": one}, cache={}) as agent:
        for _ in range(2):
            talk = agent.conversation()
            await talk.send("hello")
            await talk.send("hello")
    assert [len(call["messages"]) for call in one.calls] == [1, 3]


async def test_tool_calls_are_cached():
    function = {"name": "add", "arguments": "{}"}
    call = {"index": 0, "id": "1", "type": "function", "function": function}
    one = Provider(answer="", delta={"tool_calls": [call]}, finish_reason="tool_calls")
    metadata = {"tools": [{"type": "function", "function": {"name": "add"}}]}
    async with deployed(one=one) as deployments:
        deployments[0]["supports"] = {"function_calling": True}
        async with served(deployments=deployments, prices=PRICES, cache={}) as agent:
            first, second = [await agent.send("1 + 1", metadata=metadata) for _ in range(2)]
    assert len(one.calls) == 1
    assert first.data == second.data
    assert second.data[0]["tool_calls"][0]["function"] == function


async def acts(text):
    return text


@pytest.mark.parametrize(
    ("target", "metadata"),
    [(Provider(), {"max_tokens": 2}), (Provider(breaks_after=3), {}), (acts, {})],
    ids=["cut", "broken off", "an agent's"],
)
async def test_other_answers_are_not_cached(target, metadata):
    providers = {"one": target, "two": Provider()}
    async with routed(providers, cache={}, cooldown_seconds=0) as agent:
        replies = [await agent.send("hello", metadata=metadata) for _ in range(2)]
    events = [event["event"] for each in replies for event in each.metadata["resilience_trace"]]
    assert "cache_hit" not in events


async def test_answers_expire_and_the_oldest_makes_room():
    one = Provider()
    async with routed({"one": one}, cache={"entries": 1}) as agent:
        for text in ("a", "b", "b", "a"):
            await agent.send(text)
    assert len(one.calls) == 3
    async with routed({"one": one}, cache={"seconds": 1}) as agent:
        while len(one.calls) < 5:
            await agent.send("a")


@pytest.mark.parametrize(
    ("shared", "models", "calls"),
    [
        (False, [["one"], ["one"]], [1, 1]),
        (True, [["one"], ["one"]], [1, 0]),
        (True, [["one"], ["two"]], [1, 1]),
    ],
    ids=["unshared", "shared", "shared, but of a model that is not open to the second"],
)
async def test_callers_share_answers_only_if_they_may(shared, models, calls):
    one, two = Provider(), Provider()
    owners = {"a" * 32: "ann", "b" * 32: "bob"}
    access = [
        {"owner": owner, "models": names}
        for owner, names in zip(owners.values(), models, strict=True)
    ]
    async with deployed(one=one, two=two) as deployments:
        for each in deployments:
            each |= {"id": each["model_name"], "model_name": "group"}
        settings = {"deployments": deployments, "prices": {"group": {}}, "access": access}
        router = Router(RouterConfig.model_validate({**settings, "cache": {"shared": shared}}))
        options = ServerOptions(authentication=BearerTokens(owners))
        async with running(build_app(router, options=options)) as url:
            asked = []
            for token in owners:
                before = len(one.calls) + len(two.calls)
                async with RemoteAgent(url, auth=BearerAuth(token)) as agent:
                    await agent.send("hello")
                asked.append(len(one.calls) + len(two.calls) - before)
    assert asked == calls
