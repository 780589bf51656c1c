"""Runs are traced only on request, because the SDK sends traces to OpenAI."""

from __future__ import annotations

import pytest
from a2a_adapters_openai_agents import adapt
from agents import (
    Agent,
    GuardrailFunctionOutput,
    RunConfig,
    Runner,
    function_tool,
    input_guardrail,
    set_trace_processors,
)
from agents.tracing import TracingProcessor

from tests.plugins.openai_agents.support import agent, calling
from tests.support.adapters import answer, ask


class Recorder(TracingProcessor):
    """Records everything that would be sent."""

    def __init__(self):
        self.sent = []

    def on_trace_start(self, trace):
        self.sent.append(trace)

    def on_trace_end(self, trace):
        pass

    def on_span_start(self, span):
        self.sent.append(span)

    def on_span_end(self, span):
        pass

    def shutdown(self):
        pass

    def force_flush(self):
        pass


@pytest.fixture
def recorder():
    recorder = Recorder()
    set_trace_processors([recorder])
    yield recorder
    set_trace_processors([])


def busy_agent():
    """Return an agent that runs others in a guardrail, in a tool, as a tool and by a handoff."""

    @input_guardrail
    async def guard(context, agent_, given):
        await Runner.run(agent("ok", name="guard"), "may it?")
        return GuardrailFunctionOutput(output_info=None, tripwire_triggered=False)

    @function_tool
    async def look_up() -> str:
        return (await Runner.run(agent("rain", name="inner"), "weather?")).final_output

    as_tool = agent("sun", name="second").as_tool("ask_second", "Asks the second.")
    expert = agent("It rains.", name="expert")
    return agent(
        [calling("look_up"), calling("ask_second", call_id="c2", input="weather?")],
        calling("transfer_to_expert", call_id="c3"),
        tools=[look_up, as_tool],
        handoffs=[expert],
        input_guardrails=[guard],
    )


@pytest.mark.parametrize("config", [None, RunConfig(), RunConfig(workflow_name="mine")])
async def test_runs_are_not_traced_by_default(recorder, config):
    assert answer(await ask(adapt(busy_agent(), run_config=config), "hi")) == "It rains."
    assert recorder.sent == []


async def test_runs_are_traced_on_request(recorder):
    await ask(adapt(busy_agent(), tracing=True), "hi")
    assert len(recorder.sent) > 5


async def test_other_runs_are_traced_as_before(recorder):
    await ask(adapt(Agent(name="helper", model=agent("hello").model)), "hi")
    await Runner.run(agent("hello"), "hi")
    assert len(recorder.sent) > 1
