"""The limits of graphs and agents, and what callers are told when one is reached."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from a2a_adapters import AgentFailedError

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

_STEPS = 100
"""How many steps a graph may take for one message, unless its user sets a `recursion_limit`."""

_UNSET = (None, 9_999)
"""A graph's own limit if its user has set none: the second is that of `create_agent`."""


def step_limit(graph: Any) -> RunnableConfig:
    """Return the configuration that limits a graph's steps; an empty one if its user has."""
    if (graph.config or {}).get("recursion_limit") not in _UNSET:
        return {}
    # LangGraph's own variable for the limit of all graphs of a process, 10,007 by default.
    return {"recursion_limit": int(os.environ.get("LANGGRAPH_DEFAULT_RECURSION_LIMIT", _STEPS))}


def limit_failure(error: Exception, name: str = "") -> AgentFailedError | None:
    """Return an error as a limit that was reached, None if it is anything else.

    Args:
        error: The error.
        name: The name of its class on a server elsewhere.
    """
    match name or type(error).__name__:
        case "GraphRecursionError":
            found = re.search(r"limit of (\d+)", str(error))
            steps = f"{found[1]} steps" if found else "its limit of steps"
            return AgentFailedError("limit", f"The agent did not finish within {steps}.")
        case "ModelCallLimitExceededError" | "ToolCallLimitExceededError" | "NodeTimeoutError":
            return AgentFailedError("limit")
    return None
