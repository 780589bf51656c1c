"""A graph whose nodes are activities."""

from __future__ import annotations

from typing import Any

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from a2a_adapters_temporal import A2ACaller
    from langgraph.graph import START, StateGraph
    from temporalio.langgraph import LangGraphPlugin, graph

    from tests.plugins.temporal.durable import halves


async def begin(state: dict[str, Any]) -> None:
    await halves.first()


async def end(state: dict[str, Any]) -> None:
    await halves.second()


OPTIONS = {"execute_in": "activity", **halves.LIMITS}
chores = StateGraph(dict[str, Any])
chores.add_node("begin", begin, metadata=OPTIONS).add_node("end", end, metadata=OPTIONS)
chores.add_edge(START, "begin").add_edge("begin", "end")
PLUGINS = [LangGraphPlugin(graphs={"chores": chores})]
ACTIVITIES = []


@workflow.defn
class Chores:
    @workflow.init
    def __init__(self, text: str) -> None:
        self.caller = A2ACaller()

    @workflow.run
    async def run(self, text: str) -> None:
        await self.caller.ask("Ready?")
        await graph("chores").compile().ainvoke({"text": text})
