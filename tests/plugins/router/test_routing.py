"""Choice of the deployment, and fallbacks after failures."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from a2a_adapters_router import Router, RouterConfig
from a2a_adapters_router.joining import Joiner
from hypothesis import example, given
from hypothesis import strategies as st

from a2a_adapters import (
    AgentRequest,
    Data,
    File,
    InputRequired,
    Output,
    RemoteAgent,
    RemoteRefusedError,
    RemoteTaskError,
    TaskMetadata,
    Text,
    TextDelta,
    build_app,
)
from a2a_adapters.testing import running
from tests.plugins.router.providers import ANSWER, KEY, Provider, deployed, leave, routed, served

TEXT = "Once upon a time there was a fox. The fox was quick, and the dog was lazy."


def events(reply):
    return [(each["event"], each["model"]) for each in reply.metadata["resilience_trace"]]


async def test_the_first_deployment_answers_and_says_so():
    async with routed({"one": Provider(), "two": Provider()}) as agent:
        reply = await agent.send("hello there")
    assert reply.text == ANSWER
    reported = reply.metadata
    (attempt,) = reported["resilience_trace"]
    milliseconds = attempt.pop("latency_ms")
    why = f"one at openai for $0.000000 in {milliseconds} ms: the first of all."
    assert reported["routing_explanation"] == why
    del attempt["timestamp"]
    about = {"provider": "openai", "model": "one", "reason": "the first of all"}
    assert attempt == {"event": "primary_selected", **about}
    assert reported["policy_verdict"]["allowed"] is True
    assert reported["model"] == "one"
    assert reply.usage.total_tokens == 2 + 9


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({}, "two"),
        ({"model": "auto"}, "two"),
        ({"model": "one"}, "one"),
        ({"combo": "cheap"}, "one"),
        ({"role": "review"}, "one"),
        ({"model": "two", "combo": "cheap"}, "one"),
    ],
)
async def test_the_request_decides_the_route(asked, expected):
    providers = {"one": Provider(), "two": Provider()}
    settings = {
        "combos": {"good": ["two", "one"], "cheap": ["one"]},
        "active": "good",
        "roles": {"review": "cheap"},
    }
    async with routed(providers, **settings) as agent:
        reply = await agent.send("hello", metadata=asked)
    assert reply.metadata["model"] == expected


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        ({"model": "three"}, "unknown model 'three'; available: one, combo good"),
        ({"combo": "bad"}, "unknown combo 'bad'"),
        ({"role": "cook"}, "unknown role 'cook'; known roles: review"),
        ({"budget": "much"}, "budget: Input should be a valid number"),
        ({"budget": -1}, "budget"),
        ({"skill": "dance"}, "skill"),
    ],
)
async def test_unknown_names_are_refused(asked, text):
    settings = {"combos": {"good": ["one"]}, "roles": {"review": "good"}}
    async with routed({"one": Provider()}, **settings) as agent:
        with pytest.raises(RemoteRefusedError, match=text):
            await agent.send("hello", metadata=asked)


FAULTS = {
    "500": {"status": 500},
    "401": {"status": 401},
    "429": {"status": 429},
    "at once": {"breaks_after": 0},
    "cut": {"breaks_after": 4},
    "aborted": {"breaks_after": 4, "aborts": True},
}


@pytest.mark.parametrize("goes_on", [True, False])
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
async def test_the_next_deployment_continues_without_loss_or_repetition(fault, goes_on):
    providers = {"one": Provider(**FAULTS[fault]), "two": Provider(goes_on=goes_on)}
    async with routed(providers) as agent:
        news = [event async for event in agent.stream("hello")]
        said = "".join(event.text for event in news if isinstance(event, TextDelta))
    assert said == news[-1].text == ANSWER
    names = [name for name, _ in events(news[-1])]
    assert names == ["primary_selected", "fallback_needed", "fallback_selected"]
    attempt = news[-1].metadata["resilience_trace"][-1]
    is_begun = providers["one"].breaks_after == 4
    assert attempt.get("answer") == (
        ("continued" if goes_on else "restarted") if is_begun else None
    )
    assert "not one (" in news[-1].metadata["routing_explanation"]
    assert KEY not in str(news)
    assert "hunter2" not in str(news)


async def test_a_transient_failure_is_retried():
    provider = Provider(failures=2)
    async with routed({"one": provider}, retries=2) as agent:
        reply = await agent.send("hello")
    assert reply.text == ANSWER
    retries = [("fallback_needed", "one"), ("retry", "one")]
    assert events(reply) == [("primary_selected", "one"), *retries, *retries]


async def test_the_cooldown_follows_retry_after():
    one = Provider(status=429, retry_after="500")
    async with routed({"one": one, "two": Provider()}, retries=3) as agent:
        await agent.send("hello")
        reply = await agent.send("hello")
    assert len(one.calls) == 1
    assert events(reply) == [("cooldown", "one"), ("primary_selected", "two")]
    assert "cooling down for 500 s" in str(reply.metadata["resilience_trace"])


async def test_retry_after_may_be_a_date():
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=500), usegmt=True)
    one = Provider(status=429, retry_after=date)
    async with routed({"one": one, "two": Provider()}) as agent:
        await agent.send("hello")
        (skipped, _) = (await agent.send("hello")).metadata["resilience_trace"]
    found = re.fullmatch(r"cooling down for (\d+) s", skipped["reason"])
    assert 100 < int(found[1]) <= 500


async def test_invalid_input_starts_no_cooldown():
    one = Provider(status=400)
    async with routed({"one": one, "two": Provider()}) as agent:
        await agent.send("hello")
        await agent.send("hello")
    assert len(one.calls) == 2


async def test_a_failure_of_all_deployments_includes_the_trace():
    async with routed({"one": Provider(status=500), "two": Provider(status=503)}) as agent:
        with pytest.raises(RemoteTaskError) as caught:
            await agent.send("hello")
    reply = caught.value.reply
    assert reply.state == "failed"
    assert [name for name, _ in events(reply)].count("fallback_needed") == 2
    assert reply.metadata["error_code"] == -32005
    assert "one (HTTP 500" in reply.metadata["routing_explanation"]
    assert KEY not in str(caught.value)
    assert "hunter2" not in str(reply)


async def test_cancelling_stops_the_provider():
    provider = Provider(gate=asyncio.Event())
    async with routed({"one": provider}) as agent:
        await leave(agent, provider)


async def test_models_and_agents_are_fallbacks_for_each_other():
    async def helper(text):
        yield "the quick brown fox jumps "
        yield "over the lazy dog"

    async def failing(text):
        raise RuntimeError

    async with routed({"one": Provider(status=500), "helper": helper}) as agent:
        reply = await agent.send("hello")
        assert (reply.text, reply.metadata["model"]) == (ANSWER, "helper")
    async with routed({"helper": failing, "one": Provider()}) as agent:
        reply = await agent.send("hello")
        assert (reply.text, reply.metadata["model"]) == (ANSWER, "one")
        assert "its task ended as failed" in str(reply.metadata["resilience_trace"])


async def test_the_whole_conversation_is_sent():
    provider = Provider(answer=None)
    async with routed({"one": provider}) as agent:
        first = await agent.send("one word")
        await agent.send("two words", context_id=first.context_id)
    roles = [(m["role"], m["content"]) for m in provider.calls[-1]["messages"]]
    assert roles == [("user", "one word"), ("assistant", "one word"), ("user", "two words")]


async def test_data_is_sent_as_text_without_routing_parameters():
    provider = Provider(answer=None)
    async with routed({"one": provider}) as agent:
        parts = [Data({"model": "one"}), Text("Be brief.", metadata={"role": "system"})]
        first = await agent.send([*parts, Data({"n": 1})])
        await agent.send("more", context_id=first.context_id)
    said = [[(m["role"], m["content"]) for m in call["messages"]] for call in provider.calls]
    sent = [("system", "Be brief."), ("user", '{"n":1}')]
    assert said[0] == sent
    assert said[1][:2] == sent
    assert "model" not in str(said[1])


async def test_data_that_resembles_routing_parameters_is_sent():
    async with routed({"one": Provider(answer=None)}) as agent:
        reply = await agent.send(Data({"model": "T", "year": 1908}))
    assert reply.text == '{"model":"T","year":1908}'


@pytest.mark.parametrize(
    ("part", "text"),
    [
        (Text("hello", metadata={"role": "cook"}), "one of system, user, assistant, tool"),
        (Text("hello", metadata={"role": "tool"}), "name its call with .tool_call_id"),
        (File(url="https://x.example/a.txt", media_type="text/plain"), "by their bytes"),
        (Data({"model": "one"}), "needs text or files"),
    ],
)
async def test_unsupported_parts_are_refused(part, text):
    async with routed({"one": Provider()}) as agent:
        with pytest.raises(RemoteRefusedError, match=text):
            await agent.send([part])


async def test_forty_callers_get_their_own_answers():
    providers = {"one": Provider(answer=None, failures=10), "two": Provider(answer=None)}
    async with routed(providers, cooldown_seconds=0) as agent:
        texts = [f"caller {n} says {n * 7}" for n in range(40)]
        replies = await asyncio.gather(*map(agent.send, texts))
    assert [reply.text for reply in replies] == texts


async def test_an_agent_that_asks_a_question_is_skipped():
    def asking(text):
        yield InputRequired("Which city?")

    async with routed({"asking": asking, "one": Provider()}) as agent:
        first = await agent.send("hello")
        second = await agent.send("hello")
    assert first.text == second.text == ANSWER
    assert events(second)[0] == ("primary_selected", "asking")


async def test_agents_get_the_configured_metadata():
    async def priced(request: AgentRequest):
        yield str(request.metadata.get("model"))

    async with deployed(priced=priced) as (found,):
        config = RouterConfig(
            deployments=[{**found, "metadata": {"model": "small"}}],
            prices={"priced": {"request": 1}},
        )
        async with running(build_app(Router(config))) as url, RemoteAgent(url) as agent:
            assert (await agent.send("hello")).text == "small"


async def test_negative_costs_of_agents_are_ignored():
    async def generous(text):
        yield TaskMetadata({"usage": {"input_tokens": 5, "output_tokens": -1_000_000}})
        yield Data({"n": 1})

    prices = {"generous": {"input": 1, "output": 1}}
    async with routed({"generous": generous}, prices=prices) as agent:
        reply = await agent.send("hello")
    assert reply.metadata["cost_envelope"]["actual"] >= 0


BROKEN = [
    (Provider(breaks_after=3, aborts=True), "its stream broke off"),
    (Provider(breaks_after=3), "its stream broke off"),
    (Provider(gate=asyncio.Event()), "silent for 0.5 s"),
    (Provider(gate=asyncio.Event(), gated_after=3), "silent for 0.5 s"),
    (Provider(answer=""), "its answer was empty"),
    (Provider(answer="", finish_reason="content_filter"), "its answer was empty (content_filter)"),
    (Provider(status=503), "HTTP 503 (ServiceUnavailable)"),
]


@pytest.mark.parametrize(("provider", "reason"), BROKEN)
async def test_the_trace_explains_the_fallback(provider, reason):
    async with deployed(one=replace(provider, calls=[]), two=Provider()) as (one, two):
        silence = 0.5 if provider.gate else 60
        settings = {
            "deployments": [{**one, "timeout_seconds": silence}, two],
            "prices": {"one": {"input": 0}, "two": {"input": 0}},
        }
        async with served(**settings) as agent:
            reply = await agent.send("hello")
    assert (reply.text, reply.metadata["model"]) == (ANSWER, "two")
    assert reply.metadata["resilience_trace"][1]["reason"] == reason
    assert f"one ({reason})" in reply.metadata["routing_explanation"]


async def test_a_break_and_then_a_refusal_is_a_failure():
    quotas = [{"deployment": "two", "per": "month", "requests": 1}]
    async with routed({"one": Provider(breaks_after=2), "two": Provider()}, quotas=quotas) as agent:
        await agent.send("hello", metadata={"model": "two"})
        with pytest.raises(RemoteTaskError) as caught:
            await agent.send("hello")
    reply = caught.value.reply
    assert (reply.state, reply.metadata["error_code"]) == ("failed", -32005)
    assert reply.text == "the quick "
    assert reply.metadata["policy_verdict"] == {
        "allowed": True,
        "reason": "no budget or quota has enough left for another call",
    }
    last = reply.metadata["resilience_trace"][-1]["reason"]
    assert last.startswith("quota per month of deployment two: 0 requests of 1 requests left")


def joined(said, *answer):
    joiner = Joiner(said)
    return said + "".join(joiner.add(piece) for piece in answer) + joiner.end()


def pieces(text, size):
    return [text[at : at + size] for at in range(0, len(text), size)]


@given(st.integers(0, len(TEXT)), st.integers(1, 20))
def test_a_repeated_answer_adds_only_new_text(cut, size):
    assert joined(TEXT[:cut], *pieces(TEXT, size)) == TEXT


@given(st.integers(0, len(TEXT)), st.integers(1, 20))
def test_a_continuation_is_added_completely(cut, size):
    assert joined(TEXT[:cut], *pieces(TEXT[cut:], size)) == TEXT


@given(st.integers(30, len(TEXT)), st.integers(12, 30), st.integers(1, 20))
def test_an_answer_that_repeats_the_end_adds_only_new_text(cut, overlap, size):
    assert joined(TEXT[:cut], *pieces(TEXT[cut - overlap :], size)) == TEXT


@given(st.text("ab", max_size=9), st.text("ab", max_size=9), st.integers(1, 4))
@example("abab", "ab", 1)
def test_short_words_repeated_by_chance_are_kept(said, rest, size):
    result = joined(said, *pieces(rest, size))
    is_restart = rest.startswith(said)
    assert result == (said + rest if not is_restart else max(said, rest, key=len))


async def test_texts_and_files_of_an_agent_are_in_order():
    async def captioned(request):
        yield TextDelta("Look:")
        yield Output([File(content=b"cat", media_type="image/png")])
        yield TextDelta("A cat.")

    async with running(build_app(captioned, name="captioned")) as url:
        deployment = {"model_name": "captioned", "agent": url, "price": {"input": 0}}
        async with served(deployments=[deployment]) as agent:
            reply = await agent.send("hello")
    assert [type(part) for part in reply.parts] == [Text, File, Text]
    assert reply.text == "Look:\nA cat."
