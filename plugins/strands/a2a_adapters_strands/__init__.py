"""Serves Strands agents and teams of them, and calls remote agents from them.

`serve(agent)` works without an import from here. For options, wrap the agent:

    from a2a_adapters_strands import adapt

    serve(adapt(make_agent, run_limits={"turns": 10}))

In the other direction, `A2AModel` and `a2a_tool` make remote agents models and tools of Strands.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, cast

from a2a_adapters import TargetError
from a2a_adapters.plugin import Factory, example_of, hookimpl, lazy_names

if TYPE_CHECKING:
    from a2a_adapters import RemoteAgent
    from a2a_adapters.plugin import Adapter
    from a2a_adapters_strands.calling.model import A2AModel
    from a2a_adapters_strands.calling.tool import a2a_tool
    from a2a_adapters_strands.serving.adapter import StrandsAdapter, adapt
    from a2a_adapters_strands.serving.teams import TeamAdapter

__all__ = ["A2AModel", "StrandsAdapter", "TeamAdapter", "a2a_tool", "adapt"]

_EXTRA = "strands"
_DISTRIBUTION = "strands-agents"

# Loaded on first use, because importing the framework takes seconds.
__getattr__ = lazy_names(
    __name__,
    {
        "A2AModel": "calling.model",
        "a2a_tool": "calling.tool",
        "adapt": "serving.adapter",
        "StrandsAdapter": "serving.adapter",
        "TeamAdapter": "serving.teams",
    },
    frameworks=("strands",),
    extra=_EXTRA,
)


@hookimpl
def a2a_adapt(target: object) -> Adapter | None:
    """Wrap an agent, or a function that makes one, a graph or a swarm for every run.

    Raises:
        TargetError: It is a graph or a swarm itself.
    """
    # An agent can only exist if the framework is imported already.
    framework = sys.modules.get("strands.agent.agent")
    if framework is None:
        return None
    example = example_of(target)
    if isinstance(example, framework.Agent):
        return cast("Adapter", __getattr__("adapt")(target))
    multiagent = sys.modules.get("strands.multiagent.base")
    if multiagent is not None and isinstance(example, multiagent.MultiAgentBase):
        if isinstance(target, Factory):
            return cast("Adapter", __getattr__("TeamAdapter")(target))
        raise TargetError(
            f"a {type(example).__name__} keeps the messages of its last run: "
            "serve a function that returns a new one"
        )
    return None


@hookimpl
def a2a_accepts() -> str:
    """Return the kinds of targets that can be served."""
    return "an agent, or a function that makes one, a graph or a swarm"


@hookimpl
def a2a_frameworks() -> list[str]:
    """Return the frameworks that this plugin supports."""
    return [_DISTRIBUTION]


@hookimpl
def a2a_remote_llm(agent: RemoteAgent, framework: str) -> object | None:
    """Return a remote agent as a model."""
    return __getattr__("A2AModel")(agent) if framework in {_EXTRA, _DISTRIBUTION} else None


@hookimpl
def a2a_remote_tool(agent: RemoteAgent, framework: str) -> object | None:
    """Return a remote agent as a tool."""
    return __getattr__("a2a_tool")(agent) if framework in {_EXTRA, _DISTRIBUTION} else None
