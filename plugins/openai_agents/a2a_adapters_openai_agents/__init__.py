"""Serves agents of the OpenAI Agents SDK, and calls remote agents from them.

`serve(agent)` works without an import from here. For options, wrap the agent:

    from a2a_adapters_openai_agents import adapt

    serve(adapt(agent, max_turns=20))

In the other direction, `A2AModel`, `a2a_tool` and `a2a_handoff` are remote agents as the SDK's own
objects.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, cast

from a2a_adapters.plugin import hookimpl, lazy_names

if TYPE_CHECKING:
    from a2a_adapters import RemoteAgent
    from a2a_adapters.plugin import Adapter
    from a2a_adapters_openai_agents.calling.model import A2AModel
    from a2a_adapters_openai_agents.calling.tool import A2AToolkit, a2a_handoff, a2a_tool
    from a2a_adapters_openai_agents.serving.adapter import OpenAIAgentsAdapter, adapt

__all__ = ["A2AModel", "A2AToolkit", "OpenAIAgentsAdapter", "a2a_handoff", "a2a_tool", "adapt"]

_FRAMEWORK = "openai-agents"

# Loaded on first use, because importing the SDK takes a second.
__getattr__ = lazy_names(
    __name__,
    {
        "A2AModel": "calling.model",
        "a2a_handoff": "calling.tool",
        "a2a_tool": "calling.tool",
        "A2AToolkit": "calling.tool",
        "adapt": "serving.adapter",
        "OpenAIAgentsAdapter": "serving.adapter",
    },
    frameworks=("agents",),
    extra=_FRAMEWORK,
)


@hookimpl
def a2a_adapt(target: object) -> Adapter | None:
    """Wrap an agent."""
    # An agent can only exist if the SDK is imported already; other modules are named `agents`, too.
    agents = sys.modules.get("agents")
    if agents is None or not hasattr(agents, "RunState") or not isinstance(target, agents.Agent):
        return None
    # One agent serves all runs: it has no state.
    return cast("Adapter", __getattr__("adapt")(target))


@hookimpl
def a2a_accepts() -> str:
    """Return the kinds of targets that can be served."""
    return "an agent, or a function that makes one"


@hookimpl
def a2a_frameworks() -> list[str]:
    """Return the frameworks that this plugin supports."""
    return [_FRAMEWORK]


@hookimpl
def a2a_remote_llm(agent: RemoteAgent, framework: str) -> object | None:
    """Return a remote agent as a model."""
    return __getattr__("A2AModel")(agent) if framework == _FRAMEWORK else None


@hookimpl
def a2a_remote_tool(agent: RemoteAgent, framework: str) -> object | None:
    """Return a remote agent as a tool."""
    return __getattr__("a2a_tool")(agent) if framework == _FRAMEWORK else None
