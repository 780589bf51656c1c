"""Serves CrewAI crews, flows and agents, and calls remote agents from them.

`serve(crew)` and `serve(MyFlow)` need nothing from this package. For options, wrap the target:

    from a2a_adapters_crewai import adapt

    serve(adapt(crew, history_key="history"))

In the other direction, `A2ALLM`, `A2ATool` and `A2AAgent` are remote agents as the model, a tool or
a member of a crew.

crewai replaces signal handlers and sends telemetry as soon as it is imported, unless a name of this
package, such as `adapt`, is imported first. `quiet()` prevents both without importing crewai, and
`a2a-adapters serve` calls it.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from a2a_adapters.plugin import hookimpl, lazy_names
from a2a_adapters_crewai.serving.process import prepare, quiet, switch_off

if TYPE_CHECKING:
    from a2a_adapters import RemoteAgent
    from a2a_adapters.plugin import Adapter
    from a2a_adapters_crewai.calling.agent import A2AAgent
    from a2a_adapters_crewai.calling.llm import A2ALLM
    from a2a_adapters_crewai.calling.tool import A2ATool, A2AToolkit
    from a2a_adapters_crewai.serving.adapt import adapt, serve_crew
    from a2a_adapters_crewai.serving.agent import AgentAdapter
    from a2a_adapters_crewai.serving.base import Options
    from a2a_adapters_crewai.serving.crew import CrewAdapter
    from a2a_adapters_crewai.serving.flow import FlowAdapter

__all__ = [
    "A2ALLM",
    "A2AAgent",
    "A2ATool",
    "A2AToolkit",
    "AgentAdapter",
    "CrewAdapter",
    "FlowAdapter",
    "Options",
    "adapt",
    "quiet",
    "serve_crew",
]

_FRAMEWORK = "crewai"

# Importing these imports crewai, which takes several seconds: loaded on first use.
_load = lazy_names(
    __name__,
    {
        "A2AAgent": "calling.agent",
        "A2ALLM": "calling.llm",
        "A2ATool": "calling.tool",
        "A2AToolkit": "calling.tool",
        **dict.fromkeys(("adapt", "serve_crew"), "serving.adapt"),
        "AgentAdapter": "serving.agent",
        "CrewAdapter": "serving.crew",
        "FlowAdapter": "serving.flow",
        "Options": "serving.base",
    },
    frameworks=("crewai",),
    extra="crewai",
)


def __getattr__(name: str) -> Any:
    """Import a public name, with crewai's telemetry off if it was not imported before."""
    if name in __all__ and _FRAMEWORK not in sys.modules:
        switch_off()
    return _load(name)


@hookimpl
def a2a_adapt(target: object) -> Adapter | None:
    """Wrap a crew, a flow, an agent, a class of one, or a function that makes one."""
    # The target can only be crewai's if crewai is imported already.
    if _FRAMEWORK not in sys.modules:
        return None
    from a2a_adapters_crewai.serving.adapt import adapt_if_ours  # noqa: PLC0415

    return adapt_if_ours(target)


@hookimpl
def a2a_accepts() -> str:
    """Return the kinds of targets that can be served."""
    return "a crew, a flow, an agent, or a function that makes one"


@hookimpl
def a2a_prepare_process() -> None:
    """Turn crewai's telemetry off, in case the target imports it."""
    prepare()


@hookimpl
def a2a_frameworks() -> list[str]:
    """Return the frameworks that this plugin supports."""
    return ["crewai"]


@hookimpl
def a2a_remote_llm(agent: RemoteAgent, framework: str) -> object | None:
    """Return a remote agent as a model."""
    return __getattr__("A2ALLM")(agent=agent) if framework == _FRAMEWORK else None


@hookimpl
def a2a_remote_tool(agent: RemoteAgent, framework: str) -> object | None:
    """Return a remote agent as a tool."""
    return __getattr__("A2ATool").from_url(agent) if framework == _FRAMEWORK else None
