"""A travel desk: a LangGraph graph with three remote agents as tools and one as a node.

    pip install 'a2a-adapters[langchain]' langchain
    python examples/orchestrator.py [--model]

Every agent runs in a separate process. Two of them ask the user a question: one as a tool, through
the model that called it, and one as a node. The planning model is scripted, so that this runs
anywhere; with --model, the guide uses a real model on this machine (see local_model.py). The script
fails if a result is wrong.
"""

from __future__ import annotations

import asyncio
import sys

from a2a_adapters_langchain import A2ARunnable, A2AToolkit
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt
from remote_agents import serving

WISH = "A weekend in the capital of France, please. What is it called?"
ANSWERS = {"On which day?": "Friday", "Shall I send it?": "yes"}


@tool
def ask_user(question: str) -> str:
    """Ask the user."""
    return interrupt({"question": question})


class Planner(BaseChatModel):
    """Stands in for a model that calls tools, based on the results so far."""

    @property
    def _llm_type(self) -> str:
        return "planner"

    def bind_tools(self, *_, **__):
        return self

    def _generate(self, messages, *_, **__):
        results = {m.name: str(m.text) for m in messages if isinstance(m, ToolMessage)}
        message = self._next(results)
        return ChatResult(generations=[ChatGeneration(message=message)])

    def _next(self, results: dict[str, str]) -> AIMessage:
        if "guide" not in results:
            return calling(guide="What is the capital of France?")
        if "flights" not in results:
            city = "Paris" if "Paris" in results["guide"] else "nowhere"
            return calling(flights=f"A flight to {city}", hotels=f"A room in {city}")
        question = results["flights"].splitlines()[0]
        if "ask_user" not in results:
            return calling(ask_user=question)
        if "booked" not in results["flights"]:
            return calling(flights=results["ask_user"])
        lines = (results["guide"], results["flights"], results["hotels"].splitlines()[0])
        return AIMessage("\n".join(line.strip() for line in lines))


def calling(**calls: str) -> AIMessage:
    """Return a message that calls tools."""
    key = {"ask_user": "question"}
    return AIMessage(
        "",
        tool_calls=[
            {"name": name, "args": {key.get(name, "message"): text}, "id": name}
            for name, text in calls.items()
        ],
    )


async def make_graph(tools: dict[str, str], clerk: str):
    planner_tools = await A2AToolkit(tools).aget_tools()
    builder = StateGraph(MessagesState)
    builder.add_node("planner", create_agent(Planner(), [*planner_tools, ask_user]))
    builder.add_node("clerk", A2ARunnable(clerk))
    builder.add_edge(START, "planner")
    builder.add_edge("planner", "clerk")
    return builder.compile(checkpointer=InMemorySaver())


async def talk(graph) -> tuple[list[str], list[str]]:
    """Run the graph and answer its questions as the user; return the questions and the answers."""
    config = {"configurable": {"thread_id": "anna"}}
    asked = []
    print("You      ", WISH)
    state = await graph.ainvoke({"messages": [HumanMessage(WISH)]}, config)
    while "__interrupt__" in state:
        (pending,) = state["__interrupt__"]
        question = pending.value["question"]
        asked.append(question)
        print("Question ", question, "\nYou      ", ANSWERS[question])
        state = await graph.ainvoke(Command(resume=ANSWERS[question]), config)
    said = [m.text for m in state["messages"] if isinstance(m, AIMessage) and m.text]
    for text in said:
        print("Desk     ", text.replace("\n", "\n          "))
    return asked, said


async def main(*, with_model: bool) -> None:
    guide = "model_guide" if with_model else "guide"
    with serving(guide=guide, flights="flights", hotels="hotels", clerk="clerk") as urls:
        tools = {name: urls[name] for name in ("guide", "flights", "hotels")}
        asked, said = await talk(await make_graph(tools, urls["clerk"]))
    letter, last = said
    assert asked == list(ANSWERS), asked
    assert "Paris" in letter.splitlines()[0], letter
    assert letter.splitlines()[1:] == [
        "A flight to Paris on Friday: booked.",
        "A room in Paris: booked.",
    ], letter
    assert last == "The letter is sent.", last


if __name__ == "__main__":
    asyncio.run(main(with_model="--model" in sys.argv[1:]))
