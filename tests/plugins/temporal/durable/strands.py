"""An agent of Strands whose calls of models and tools are activities."""

from __future__ import annotations

from datetime import timedelta

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from a2a_adapters_temporal import A2ACaller
    from temporalio.strands_agents import StrandsPlugin, TemporalAgent
    from temporalio.strands_agents.workflow import activity_as_tool

    from tests.plugins.strands import support
    from tests.plugins.temporal.durable import halves

PLUGINS = [StrandsPlugin(models={"scripted": lambda: halves.model(support)})]
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
        timeout = timedelta(seconds=30)
        agent = TemporalAgent(model="scripted", start_to_close_timeout=timeout, tools=tools)
        await agent.invoke_async(text)
