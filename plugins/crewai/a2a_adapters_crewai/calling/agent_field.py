"""The field in which CrewAI objects hold their remote agent."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, InstanceOf, PlainSerializer

from a2a_adapters import RemoteAgent


def _name(agent: RemoteAgent) -> str:
    return agent.name


AgentField = Annotated[
    InstanceOf[RemoteAgent],
    BeforeValidator(RemoteAgent.of),
    PlainSerializer(_name, when_used="json"),  # crewai writes what it runs into its events
]
"""A `RemoteAgent`, or the URL of one."""
