"""The field in which CrewAI objects hold their remote agent."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, InstanceOf, PlainSerializer

from a2a_adapters import RemoteAgent


def as_agent(agent: RemoteAgent | str) -> RemoteAgent:
    """Return the agent for a URL, an agent as it is."""
    return RemoteAgent(agent) if isinstance(agent, str) else agent


def _name(agent: RemoteAgent) -> str:
    return agent.name


AgentField = Annotated[
    InstanceOf[RemoteAgent],
    BeforeValidator(as_agent),
    PlainSerializer(_name, when_used="json"),  # crewai writes what it runs into its events
]
"""A `RemoteAgent`, or the URL of one."""
