"""Failures have a category, and limits are rejections in words."""

from __future__ import annotations

import pytest
from a2a_adapters_pydantic_ai import adapt
from pydantic_ai import Agent, UsageLimits
from pydantic_ai.exceptions import (
    ConcurrencyLimitExceeded,
    ContentFilterError,
    ModelAPIError,
    ModelConnectionError,
    ModelHTTPError,
    ModelRequestRejectedError,
    OutputTokenLimitExceeded,
    UnexpectedModelBehavior,
)
from pydantic_ai.models.fallback import FallbackModel

from a2a_adapters import BlockedError, Rejected, RemoteConnectionError, TaskMetadata
from a2a_adapters.plugin import AgentFailedError
from tests.plugins.pydantic_ai.support import Fake, agent, calling, script
from tests.support.adapters import ask, failure, only, request


def http(status):
    return ModelHTTPError(status, "model", {"error": "sk-hunter2"})


@pytest.mark.parametrize(
    ("error", "category"),
    [
        (http(401), "model_refused"),
        (http(404), "model_refused"),
        (http(429), "model_unavailable"),
        (http(503), "model_unavailable"),
        (ModelConnectionError("model", "hunter2"), "model_unavailable"),
        (ModelRequestRejectedError("model", "hunter2"), "model_refused"),
        (ModelAPIError("model", "hunter2"), "model_unavailable"),
        (RemoteConnectionError("hunter2"), "model_unavailable"),
        (ConcurrencyLimitExceeded("hunter2"), "limit"),
        (OutputTokenLimitExceeded("hunter2"), "limit"),
    ],
)
async def test_failures_of_models_have_a_category(error, category):
    assert await failure(adapt(agent(error))) == category


async def test_failures_of_agents_in_tools_are_of_their_model():
    made = agent(calling("ask_expert"))

    @made.tool_plain
    async def ask_expert() -> str:
        async with Agent(Fake(lambda _: http(503))).run_stream_events("hi") as events:
            return str([event async for event in events])

    assert await failure(adapt(made)) == "model_unavailable"


async def test_failures_of_all_fallback_models_have_the_category_of_the_first():
    models = [Fake(lambda _: http(401)), Fake(lambda _: http(503))]
    made = Agent(FallbackModel(*models, fallback_on=(ModelHTTPError,)))
    assert await failure(adapt(made)) == "model_refused"


async def test_exceptions_of_tools_fail_the_task():
    made = agent(calling("breaks"))

    @made.tool_plain
    def breaks() -> str:
        raise ValueError("hunter2")

    assert await failure(adapt(made)) == "tool"


@pytest.mark.parametrize("error", [ValueError("hunter2"), UnexpectedModelBehavior("hunter2")])
async def test_other_errors_are_raised(error):
    with pytest.raises(type(error)):
        await ask(adapt(agent(error)), "hi")


async def test_errors_for_the_caller_are_raised_by_tools():
    made = agent(calling("spend"))

    @made.tool_plain
    def spend() -> str:
        raise AgentFailedError("limit", "This agent has a budget.")

    with pytest.raises(AgentFailedError, match="budget"):
        await ask(adapt(made), "hi")


def endless():
    made = Agent(Fake(lambda messages: calling("go_on", call_id=f"c{len(messages)}")))

    @made.tool_plain
    def go_on() -> str:
        return "gone"

    return made


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        (None, " of 50 requests"),
        (UsageLimits(request_limit=3), " of 3 requests"),
        (UsageLimits(tool_calls_limit=2), " of 2 tool calls"),
        (UsageLimits(total_tokens_limit=60), " of 60 total tokens"),
        (UsageLimits(output_tokens_limit=1), " of 1 output tokens"),
    ],
)
async def test_usage_limits_reject_the_task_in_words(limits, words):
    events = await ask(adapt(endless(), usage_limits=limits), "hi")
    assert only(events, TaskMetadata).values == {"error": {"category": "limit"}}
    assert only(events, Rejected).reason == f"The agent reached its usage limit{words}."


async def test_content_filters_reject_the_task():
    events = adapt(agent(ContentFilterError("hunter2"))).stream(request("hi"))
    assert (await anext(events)).values == {"error": {"category": "model_refused"}}
    with pytest.raises(BlockedError, match="The content filter of the model"):
        await anext(events)


async def test_limits_apply_to_the_whole_task():
    made = endless()

    @made.tool_plain(requires_approval=True)
    def book() -> str:
        return "booked"

    steps = script(calling("book"), *[calling("go_on", call_id=f"g{n}") for n in range(5)])
    adapter = adapt(made, usage_limits=UsageLimits(request_limit=3))
    made.model = steps
    await ask(adapter, "hi")
    events = await ask(adapter, "yes", resuming=True)
    assert "3 requests" in only(events, Rejected).reason
    assert len(steps.heard) == 3
