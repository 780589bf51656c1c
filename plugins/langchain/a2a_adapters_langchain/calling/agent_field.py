"""The field in which LangChain objects hold their remote agent."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, InstanceOf

from a2a_adapters import RemoteAgent


def as_agent(agent: RemoteAgent | str) -> RemoteAgent:
    """Return the agent for a URL, an agent as it is."""
    return RemoteAgent(agent) if isinstance(agent, str) else agent


AgentField = Annotated[InstanceOf[RemoteAgent], BeforeValidator(as_agent)]
"""A `RemoteAgent`, or the URL of one."""
