"""Finds what may change or withhold the answer of an agent after its model has given it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agent_framework import FunctionMiddleware, MiddlewareType

if TYPE_CHECKING:
    from agent_framework import Workflow


def changes_answers(agent: Any) -> bool:
    """Whether middleware of an agent, or of its client, may replace responses or end the run."""
    client = getattr(agent, "client", None)
    given = [*(getattr(agent, "middleware", None) or ()), *getattr(client, "chat_middleware", ())]
    return not all(map(_is_for_tools, given))


def changes_outputs(workflow: Workflow) -> bool:
    """Whether middleware of an agent in a workflow may."""
    return any(
        changes_answers(executor.agent) if hasattr(executor, "agent") else False
        for executor in workflow.executors.values()
    )


def _is_for_tools(middleware: object) -> bool:
    kind = getattr(middleware, "_middleware_type", None)  # of decorated functions
    return isinstance(middleware, FunctionMiddleware) or kind == MiddlewareType.FUNCTION
