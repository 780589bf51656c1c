"""Agents of the end-to-end tests, each served in a separate process."""

from __future__ import annotations

import sys
from pathlib import Path

from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import PromptTemplate
from langchain_core.tools import tool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import interrupt

chain = (
    PromptTemplate.from_template("Say {word}.")
    | FakeListChatModel(responses=["good morning"])
    | StrOutputParser()
)


@tool
def book(city: str) -> str:
    """Book a flight after confirmation."""
    answer = interrupt(f"Shall I book a flight to {city}?")
    return f"booked {city}: {answer}"


def decide(state: MessagesState) -> dict:
    """Call the tool for a new request, or report its result."""
    last = state["messages"][-1]
    if isinstance(last, ToolMessage):
        return {"messages": [AIMessage(str(last.content))]}
    call = {"name": "book", "args": {"city": last.text}, "id": "call"}
    return {"messages": [AIMessage("", tool_calls=[call])]}


def route(state: MessagesState) -> str:
    """Route to the tool if it was called."""
    return "tools" if state["messages"][-1].tool_calls else END


builder = StateGraph(MessagesState)
builder.add_node("decide", decide)
builder.add_node("tools", ToolNode([book]))
builder.add_edge(START, "decide")
builder.add_conditional_edges("decide", route, ["tools", END])
builder.add_edge("tools", "decide")
graph = builder.compile()


def __getattr__(name: str) -> object:
    """Create `model`, a chain on the real local language model, on first use."""
    if name != "model":
        raise AttributeError(name)
    sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))
    from demo_server import PROMPT
    from local_model import completion_model

    return PromptTemplate.from_template(PROMPT) | completion_model() | StrOutputParser()
