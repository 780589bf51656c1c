"""Finds the hooks and guardrails that may change or block what a model has written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agents import FunctionTool

from a2a_adapters.plugin import overrides

if TYPE_CHECKING:
    from agents import Agent


def sees_responses(agent: Agent[Any]) -> bool:
    """Whether hooks of an agent may change a response of its model, or end the run because of it.

    The SDK documents hooks as observers, but it processes the responses that they have changed, and
    their exceptions end the run.
    """
    return any(overrides(agent.hooks, name, "agents.") for name in ("on_llm_end", "on_end"))


def sees_calls(agent: Agent[Any]) -> bool:
    """Whether hooks of an agent may end the run before a tool is called."""
    return overrides(agent.hooks, "on_tool_start", "agents.")


def sees_results(agent: Agent[Any]) -> bool:
    """Whether hooks of an agent may end the run because of a tool's result."""
    return overrides(agent.hooks, "on_tool_end", "agents.")


def checks_arguments(agent: Agent[Any], tool: str) -> bool:
    """Whether an agent's tool has guardrails for its arguments, which may reject a call."""
    return any(
        isinstance(each, FunctionTool) and each.name == tool and bool(each.tool_input_guardrails)
        for each in agent.tools
    )
