"""A LangGraph graph that chooses a destination and leaves the rest to the remote office."""

from __future__ import annotations

import os
import re

from a2a_adapters_langchain import A2ARunnable
from langchain_core.messages import HumanMessage
from langgraph.graph import START, MessagesState, StateGraph


def read(state: MessagesState) -> dict:
    wish = state["messages"][-1]
    city = re.findall(r"[A-Z]\w+", wish.text)[-1]
    return {"messages": [HumanMessage(city, id=wish.id)]}


builder = StateGraph(MessagesState)
builder.add_node("read", read)
builder.add_node("office", A2ARunnable(os.environ["OFFICE_URL"]))
builder.add_edge(START, "read")
builder.add_edge("read", "office")
graph = builder.compile()
