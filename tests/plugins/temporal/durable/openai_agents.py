"""An agent of the OpenAI Agents SDK, whose runner Temporal's plugin makes durable."""

from __future__ import annotations

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from a2a_adapters_temporal import A2ACaller
    from agents import Agent, Runner
    from temporalio.openai_agents import OpenAIAgentsPlugin
    from temporalio.openai_agents.testing import TestModelProvider
    from temporalio.openai_agents.workflow import activity_as_tool

    from tests.plugins.openai_agents import support
    from tests.plugins.temporal.durable import halves

PLUGINS = [OpenAIAgentsPlugin(model_provider=TestModelProvider(halves.model(support)))]
ACTIVITIES = [halves.first, halves.second]


@workflow.defn
class Chores:
    @workflow.init
    def __init__(self, text: str) -> None:
        self.caller = A2ACaller()

    @workflow.run
    async def run(self, text: str) -> None:
        await self.caller.ask("Ready?")
        tools = [activity_as_tool(half, **halves.LIMITS) for half in ACTIVITIES]
        await Runner.run(Agent(name="helper", tools=tools), text)
