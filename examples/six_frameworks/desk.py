"""A LangGraph graph that asks the other five agents."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from a2a_adapters_langchain import A2ARunnable
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

if TYPE_CHECKING:
    from collections.abc import Mapping

    from langgraph.graph.state import CompiledStateGraph

    from a2a_adapters import RemoteAgent


def make_desk(agents: Mapping[str, RemoteAgent]) -> CompiledStateGraph:
    """Return the graph.

    Args:
        agents: The guide, the forecaster, the researcher, the clerk and the writer, by name.
    """

    async def survey(state: MessagesState) -> dict:
        """Ask three agents at once, and cancel the researcher when the others have answered."""
        wish = state["messages"][-1]
        city = wish.text
        research = await agents["researcher"].start(city)
        sight, weather = await asyncio.gather(
            agents["guide"].send(city), agents["forecaster"].send(city)
        )
        cancelled = await research.cancel()
        found = f"{city}: {sight.text}, {weather.text}; research {cancelled.state}"
        return {"messages": [HumanMessage(found, id=wish.id)]}

    builder = StateGraph(MessagesState)
    builder.add_node("survey", survey)
    builder.add_node("book", A2ARunnable(agents["clerk"]))
    builder.add_node("write", A2ARunnable(agents["writer"]))
    builder.add_edge(START, "survey")
    builder.add_edge("survey", "book")
    builder.add_edge("book", "write")
    return builder.compile(checkpointer=InMemorySaver())
