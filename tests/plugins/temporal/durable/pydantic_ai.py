"""An agent of Pydantic AI whose calls of models and tools are activities."""

from __future__ import annotations

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from a2a_adapters_temporal import A2ACaller
    from pydantic_ai.durable_exec.temporal import (
        PydanticAIPlugin,
        PydanticAIWorkflow,
        TemporalDurability,
    )

    from tests.plugins.pydantic_ai import support
    from tests.plugins.temporal.durable import halves

agent = support.made(
    halves.model(support),
    tools=[halves.first, halves.second],
    capabilities=[TemporalDurability(activity_config=halves.LIMITS)],
)
PLUGINS = [PydanticAIPlugin()]
ACTIVITIES = []


@workflow.defn
class Chores(PydanticAIWorkflow):
    __pydantic_ai_agents__ = (agent,)

    @workflow.init
    def __init__(self, text: str) -> None:
        self.caller = A2ACaller()

    @workflow.run
    async def run(self, text: str) -> None:
        await self.caller.ask("Ready?")
        await agent.run(text)
