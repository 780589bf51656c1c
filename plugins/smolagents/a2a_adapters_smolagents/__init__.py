"""Serves agents of smolagents, and calls remote agents from them.

`serve(agent)` works without an import from here. For options, wrap the agent:

    from a2a_adapters_smolagents import adapt

    serve(adapt(agent, limits=Limits(conversations=100)))

In the other direction, `A2ATool` and `A2AManagedAgent` are remote agents as tools and as managed
agents of smolagents.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, cast

from a2a_adapters.plugin import example_of, hookimpl, lazy_names

if TYPE_CHECKING:
    from a2a_adapters import RemoteAgent
    from a2a_adapters.plugin import Adapter
    from a2a_adapters_smolagents.calling.tool import A2AManagedAgent, A2ATool
    from a2a_adapters_smolagents.serving.adapter import SmolagentsAdapter, adapt

__all__ = ["A2AManagedAgent", "A2ATool", "SmolagentsAdapter", "adapt"]

_EXTRA = "smolagents"

# Loaded on first use, because importing the framework takes seconds.
__getattr__ = lazy_names(
    __name__,
    {
        "A2AManagedAgent": "calling.tool",
        "A2ATool": "calling.tool",
        "adapt": "serving.adapter",
        "SmolagentsAdapter": "serving.adapter",
    },
    frameworks=("smolagents",),
    extra=_EXTRA,
)


@hookimpl
def a2a_adapt(target: object) -> Adapter | None:
    """Wrap an agent, or a function that makes one for every run."""
    # An agent can only exist if the framework is imported already.
    framework = sys.modules.get("smolagents.agents")
    example = example_of(target)
    if framework is None or not isinstance(example, framework.MultiStepAgent):
        return None
    return cast("Adapter", __getattr__("adapt")(target))


@hookimpl
def a2a_accepts() -> str:
    """Return the kinds of targets that can be served."""
    return "an agent, or a function that makes one"


@hookimpl
def a2a_frameworks() -> list[str]:
    """Return the frameworks that this plugin supports."""
    return [_EXTRA]


@hookimpl
def a2a_remote_tool(agent: RemoteAgent, framework: str) -> object | None:
    """Return a remote agent as a tool."""
    return __getattr__("A2ATool")(agent) if framework == _EXTRA else None
