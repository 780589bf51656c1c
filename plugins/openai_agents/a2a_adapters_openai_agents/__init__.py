"""Serves agents of the OpenAI Agents SDK, and calls remote agents from them.

`serve(agent)` needs nothing from here. For options, wrap the agent first:

    from a2a_adapters_openai_agents import adapt

    serve(adapt(agent, max_turns=20))
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from a2a_adapters import hookimpl, lazy_names

if TYPE_CHECKING:
    from a2a_adapters import Adapter
    from a2a_adapters_openai_agents.serving.adapt import adapt
    from a2a_adapters_openai_agents.serving.adapter import OpenAIAgentsAdapter

__all__ = ["OpenAIAgentsAdapter", "adapt"]

# Importing these imports the SDK, which takes a second: loaded on first use.
__getattr__ = lazy_names(
    __name__,
    {"adapt": "serving.adapt", "OpenAIAgentsAdapter": "serving.adapter"},
    frameworks=("agents",),
    extra="openai-agents",
)


@hookimpl
def a2a_adapt(target: object) -> Adapter | None:
    """Wrap an agent."""
    # An agent can only exist if the SDK is imported already; others call a module `agents`, too.
    if not hasattr(sys.modules.get("agents"), "RunState"):
        return None
    from a2a_adapters_openai_agents.serving.adapt import adapt_if_ours  # noqa: PLC0415

    return adapt_if_ours(target)


@hookimpl
def a2a_frameworks() -> list[str]:
    """Name what this is made for."""
    return ["openai-agents"]
