"""Serves agents of Google's Agent Development Kit (ADK), and calls remote agents from them.

`serve(agent)` works without an import from here. For options, wrap the agent:

    from a2a_adapters_google_adk import adapt

    serve(adapt(agent, run_config=RunConfig(max_llm_calls=10)))

In the other direction, `A2AAgent`, `A2AModel` and `A2ATool` make remote agents agents, models and
tools of the framework.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, cast

from a2a_adapters.plugin import example_of, hookimpl, lazy_names

if TYPE_CHECKING:
    from a2a_adapters import RemoteAgent
    from a2a_adapters.plugin import Adapter
    from a2a_adapters_google_adk.calling.agent import A2AAgent
    from a2a_adapters_google_adk.calling.model import A2AModel
    from a2a_adapters_google_adk.calling.tool import A2ATool, A2AToolkit
    from a2a_adapters_google_adk.serving.adapter import GoogleAdkAdapter, adapt

__all__ = ["A2AAgent", "A2AModel", "A2ATool", "A2AToolkit", "GoogleAdkAdapter", "adapt"]

_FRAMEWORK = "google-adk"
_SERVED = {
    ("google.adk.agents.base_agent", "BaseAgent"),
    ("google.adk.apps.app", "App"),
    ("google.adk.runners", "Runner"),
    ("google.adk.workflow._workflow", "Workflow"),
}

# Loaded on first use, because importing the framework takes seconds.
__getattr__ = lazy_names(
    __name__,
    {
        "A2AAgent": "calling.agent",
        "A2AModel": "calling.model",
        "A2ATool": "calling.tool",
        "A2AToolkit": "calling.tool",
        "adapt": "serving.adapter",
        "GoogleAdkAdapter": "serving.adapter",
    },
    frameworks=("google.adk",),
    extra=_FRAMEWORK,
)


@hookimpl
def a2a_adapt(target: object) -> Adapter | None:
    """Wrap an agent, a workflow, an app or a runner, or a function that makes one for every run."""
    example = example_of(target)
    bases = {(base.__module__, base.__qualname__) for base in type(example).__mro__}
    return None if bases.isdisjoint(_SERVED) else cast("Adapter", __getattr__("adapt")(target))


@hookimpl
def a2a_accepts() -> str:
    """Return the kinds of targets that can be served."""
    return "an agent, a workflow, an app or a runner, or a function that makes one"


@hookimpl
def a2a_frameworks() -> list[str]:
    """Return the frameworks that this plugin supports."""
    return [_FRAMEWORK]


@hookimpl
def a2a_prepare_process() -> None:
    """Keep the framework from logging two more tracebacks of each failed run."""
    logger = logging.getLogger("google_adk")
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.CRITICAL)


@hookimpl
def a2a_remote_llm(agent: RemoteAgent, framework: str) -> object | None:
    """Return a remote agent as a model."""
    return __getattr__("A2AModel")(agent) if framework == _FRAMEWORK else None


@hookimpl
def a2a_remote_tool(agent: RemoteAgent, framework: str) -> object | None:
    """Return a remote agent as a tool."""
    return __getattr__("A2ATool")(agent) if framework == _FRAMEWORK else None
