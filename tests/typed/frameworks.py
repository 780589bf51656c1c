"""A user's program with Google ADK, Strands and Agent Framework, for type checkers."""

from __future__ import annotations

from a2a_adapters_agent_framework import A2AChatClient
from a2a_adapters_agent_framework import a2a_tool as a2a_function
from a2a_adapters_google_adk import A2AAgent, A2AModel, A2ATool
from a2a_adapters_strands import A2AModel as StrandsModel
from a2a_adapters_strands import a2a_tool
from agent_framework import Agent
from google.adk.agents import LlmAgent
from strands import Agent as StrandsAgent

from a2a_adapters import RemoteAgent, serve

URL = "http://127.0.0.1:8000"

desk = Agent(client=A2AChatClient(URL), name="desk", tools=[a2a_function(URL)])
clerk = LlmAgent(
    name="clerk",
    model=A2AModel(URL),
    tools=[A2ATool(URL, ask_user=True)],
    sub_agents=[A2AAgent(RemoteAgent(URL))],
)


def make_agent() -> StrandsAgent:
    """Return an agent of Strands with a remote model and a remote tool."""
    return StrandsAgent(model=StrandsModel(URL), tools=[a2a_tool(URL, ask_user=True)])


serve({"desk": desk, "clerk": clerk, "writer": make_agent})
