"""Finds the hooks and guardrails that may change or block what a model has written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agents import AgentHooks, FunctionTool

if TYPE_CHECKING:
    from agents import Agent


def sees_responses(agent: Agent[Any]) -> bool:
    """Whether hooks of an agent may change a response of its model, or end the run because of it.

    The SDK documents hooks as observers, but it processes the responses that they have changed, and
    their exceptions end the run.
    """
    return _overrides(agent, "on_llm_end", "on_end")


def sees_calls(agent: Agent[Any]) -> bool:
    """Whether hooks of an agent may end the run before a tool is called."""
    return _overrides(agent, "on_tool_start")


def sees_results(agent: Agent[Any]) -> bool:
    """Whether hooks of an agent may end the run because of a tool's result."""
    return _overrides(agent, "on_tool_end")


def checks_arguments(agent: Agent[Any], tool: str) -> bool:
    """Whether an agent's tool has guardrails for its arguments, which may reject a call."""
    return any(
        isinstance(each, FunctionTool) and each.name == tool and bool(each.tool_input_guardrails)
        for each in agent.tools
    )


def _overrides(agent: Agent[Any], *names: str) -> bool:
    hooks = agent.hooks
    return hooks is not None and any(
        getattr(type(hooks), name) is not getattr(AgentHooks, name) or name in vars(hooks)
        for name in names
    )
