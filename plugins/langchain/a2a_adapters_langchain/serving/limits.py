"""The limits of graphs and agents, and what callers are told when one is reached."""

from __future__ import annotations

import re

from a2a_adapters import AgentFailedError


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
