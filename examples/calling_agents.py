"""A chain and a booking agent in other processes, called as LangChain's models, tools and nodes.

    pip install 'a2a-adapters[langchain]'
    python examples/calling_agents.py

It needs no network and no model, and fails if an answer is wrong.
"""

from __future__ import annotations

import asyncio

from a2a_adapters_langchain import A2ALLM, A2AChatModel, A2ARunnable, A2ATool, A2AToolkit
from langchain_core.messages import HumanMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import PromptTemplate
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command
from remote_agents import POEM, serving

THREAD = {"configurable": {"thread_id": "example"}}


async def chat_model(poet: str) -> None:
    model = A2AChatModel(agent=poet)
    assert model.invoke("frogs").text == POEM
    chunks = [chunk.text async for chunk in model.astream("frogs")]
    assert "".join(chunks) == POEM
    assert len(chunks) > 10, "it streams"
    print("A2AChatModel ", " ".join(chunks[:12]), "...")


async def llm(poet: str) -> None:
    chain = PromptTemplate.from_template("{animal}s") | A2ALLM(agent=poet) | StrOutputParser()
    assert await chain.ainvoke({"animal": "frog"}) == POEM
    assert "".join(chain.stream({"animal": "frog"})) == POEM
    print("A2ALLM       ", await chain.ainvoke({"animal": "frog"}))


async def tools(poet: str, flights: str) -> None:
    tool = A2ATool.from_agent(flights)
    question = tool.invoke({"message": "To Rome"}, THREAD)
    assert question.startswith("On which day?")
    answer = await tool.ainvoke({"message": "Friday"}, THREAD)
    assert answer == "To Rome on Friday: booked."
    print("A2ATool      ", answer)

    toolkit = A2AToolkit({"poet": poet, "flights": flights})
    by_name = {tool.name: tool for tool in toolkit.get_tools()}
    assert by_name["poet"].invoke({"message": "frogs"}) == POEM
    print("A2AToolkit   ", ", ".join(by_name))


async def runnable(poet: str, flights: str) -> None:
    chain = A2ARunnable(poet) | StrOutputParser()
    assert await chain.ainvoke("frogs") == POEM

    builder = StateGraph(MessagesState)
    builder.add_node("flights", A2ARunnable(flights))
    builder.add_edge(START, "flights")
    graph = builder.compile(checkpointer=InMemorySaver())
    state = await graph.ainvoke({"messages": [HumanMessage("To Oslo")]}, THREAD)
    assert state["__interrupt__"][0].value["question"] == "On which day?"
    state = await graph.ainvoke(Command(resume="Monday"), THREAD)
    assert state["messages"][-1].text == "To Oslo on Monday: booked."
    print("A2ARunnable  ", state["messages"][-1].text)


async def main() -> None:
    with serving(poet="poet", flights="flights") as urls:
        poet, flights = urls["poet"], urls["flights"]
        await chat_model(poet)
        await llm(poet)
        await tools(poet, flights)
        await runnable(poet, flights)


if __name__ == "__main__":
    asyncio.run(main())
