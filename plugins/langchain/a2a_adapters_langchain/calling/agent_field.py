"""The field in which LangChain objects hold their remote agent."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, InstanceOf

from a2a_adapters import RemoteAgent

AgentField = Annotated[InstanceOf[RemoteAgent], BeforeValidator(RemoteAgent.of)]
"""A `RemoteAgent`, or the URL of one."""
