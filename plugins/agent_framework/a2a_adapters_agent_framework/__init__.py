"""Serves agents of Microsoft's Agent Framework, and calls remote agents from them.

`serve(agent)` works without an import from here. For options, wrap the agent:

    from a2a_adapters_agent_framework import adapt

    serve(adapt(agent, agent_for=lambda request: ...))

In the other direction, `A2AChatClient` and `a2a_tool` make remote agents clients and tools of the
framework.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, cast

from a2a_adapters import TargetError
from a2a_adapters.plugin import Factory, example_of, hookimpl, lazy_names

if TYPE_CHECKING:
    from a2a_adapters import RemoteAgent
    from a2a_adapters.plugin import Adapter
    from a2a_adapters_agent_framework.calling.client import A2AChatClient
    from a2a_adapters_agent_framework.calling.tool import a2a_tool
    from a2a_adapters_agent_framework.serving.adapter import AgentFrameworkAdapter, adapt
    from a2a_adapters_agent_framework.serving.workflows import WorkflowAdapter

__all__ = ["A2AChatClient", "AgentFrameworkAdapter", "WorkflowAdapter", "a2a_tool", "adapt"]

_EXTRA = "agent-framework"
_DISTRIBUTION = "agent-framework-core"

# Loaded on first use, because importing the framework takes a second.
__getattr__ = lazy_names(
    __name__,
    {
        "A2AChatClient": "calling.client",
        "a2a_tool": "calling.tool",
        "adapt": "serving.adapter",
        "AgentFrameworkAdapter": "serving.adapter",
        "WorkflowAdapter": "serving.workflows",
    },
    frameworks=("agent_framework",),
    extra=_EXTRA,
)


@hookimpl
def a2a_adapt(target: object) -> Adapter | None:
    """Wrap an agent, or a function that makes one, or a workflow, for every run.

    Raises:
        TargetError: It is a workflow itself.
    """
    example = example_of(target)
    # The framework loads its modules on first use, so that an agent can only exist with this one.
    agents = sys.modules.get("agent_framework._agents")
    if agents is not None and isinstance(example, agents.Agent):
        return cast("Adapter", __getattr__("adapt")(target))
    kind = type(example)
    if not kind.__module__.startswith("agent_framework._workflows"):
        return None
    if isinstance(target, Factory) and kind.__name__ == "Workflow":
        return cast("Adapter", __getattr__("WorkflowAdapter")(target))
    raise TargetError(
        f"a {kind.__name__} keeps the messages of its last run, and runs once at a time: "
        "serve a function that returns a new Workflow"
    )


@hookimpl
def a2a_accepts() -> str:
    """Return the kinds of targets that can be served."""
    return "an agent, or a function that makes one or a workflow"


@hookimpl
def a2a_frameworks() -> list[str]:
    """Return the frameworks that this plugin supports."""
    return [_DISTRIBUTION]


@hookimpl
def a2a_remote_llm(agent: RemoteAgent, framework: str) -> object | None:
    """Return a remote agent as a chat client."""
    return __getattr__("A2AChatClient")(agent) if framework in {_EXTRA, _DISTRIBUTION} else None


@hookimpl
def a2a_remote_tool(agent: RemoteAgent, framework: str) -> object | None:
    """Return a remote agent as a tool."""
    return __getattr__("a2a_tool")(agent) if framework in {_EXTRA, _DISTRIBUTION} else None
