"""A remote agent as an object of a framework, made by whichever plugin knows that framework."""

from __future__ import annotations

from a2a_adapters.plugins import installed_plugins
from a2a_adapters.remote.agent import RemoteAgent

__all__ = ["remote_llm", "remote_tool"]


def remote_llm(agent: str | RemoteAgent, framework: str) -> object:
    """Return a remote agent as a language model of a framework.

    Args:
        agent: The agent, or its URL.
        framework: The framework's name, "langchain" for instance.

    Raises:
        NoAdapterError: No plugin makes language models of that framework.
        MissingExtraError: The framework is not installed.
    """
    return installed_plugins().remote_llm(RemoteAgent.of(agent), framework)


def remote_tool(agent: str | RemoteAgent, framework: str) -> object:
    """Return a remote agent as a tool of a framework; its card is read for that.

    Args:
        agent: The agent, or its URL.
        framework: The framework's name, "langchain" for instance.

    Raises:
        NoAdapterError: No plugin makes tools of that framework.
        MissingExtraError: The framework is not installed.
        RemoteAgentError: The card cannot be had.
    """
    return installed_plugins().remote_tool(RemoteAgent.of(agent), framework)
