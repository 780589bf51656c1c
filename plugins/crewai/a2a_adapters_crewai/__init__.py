"""Serves CrewAI crews, flows and agents, and calls remote agents from them.

`serve(crew)` and `serve(MyFlow)` need nothing from here. For options, wrap the target first:

    from a2a_adapters_crewai import adapt

    serve(adapt(crew, history_key="history"))

The other way round, `A2ALLM`, `A2ATool` and `A2AAgent` are remote agents as the model, a tool or a
member of a crew.

crewai itself replaces signal handlers and reports to its makers as soon as it is imported.
`quiet()`, called before that, keeps it from doing so; `a2a-adapters serve` does this by itself.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from a2a_adapters import MissingExtraError, hookimpl
from a2a_adapters_crewai._process import prepare, quiet

if TYPE_CHECKING:
    from a2a_adapters import Adapter, RemoteAgent
    from a2a_adapters_crewai._adapt import adapt, serve_crew
    from a2a_adapters_crewai._agent import AgentAdapter
    from a2a_adapters_crewai._crew import CrewAdapter
    from a2a_adapters_crewai._flow import FlowAdapter
    from a2a_adapters_crewai.calling.agent import A2AAgent
    from a2a_adapters_crewai.calling.gateway import OmniRouteLLM
    from a2a_adapters_crewai.calling.llm import A2ALLM
    from a2a_adapters_crewai.calling.tool import A2ATool

__all__ = [
    "A2ALLM",
    "A2AAgent",
    "A2ATool",
    "AgentAdapter",
    "CrewAdapter",
    "FlowAdapter",
    "OmniRouteLLM",
    "adapt",
    "quiet",
    "serve_crew",
]

_FRAMEWORK = "crewai"

# Importing these imports crewai, which takes several seconds: loaded on first use.
_LAZY = {
    "A2ALLM": "a2a_adapters_crewai.calling.llm",
    "A2AAgent": "a2a_adapters_crewai.calling.agent",
    "A2ATool": "a2a_adapters_crewai.calling.tool",
    "AgentAdapter": "a2a_adapters_crewai._agent",
    "CrewAdapter": "a2a_adapters_crewai._crew",
    "FlowAdapter": "a2a_adapters_crewai._flow",
    "OmniRouteLLM": "a2a_adapters_crewai.calling.gateway",
    "adapt": "a2a_adapters_crewai._adapt",
    "serve_crew": "a2a_adapters_crewai._adapt",
}


@hookimpl
def a2a_adapt(target: object) -> Adapter | None:
    """Wrap a crew, a flow, an agent, a class of one, or a function annotated to return one."""
    # They can only exist if crewai is imported already.
    if "crewai" not in sys.modules:
        return None
    from a2a_adapters_crewai._adapt import adapt_if_ours  # noqa: PLC0415

    return adapt_if_ours(target)


@hookimpl
def a2a_prepare_process() -> None:
    """Make crewai quiet, should the target import it."""
    prepare()


@hookimpl
def a2a_remote_llm(agent: RemoteAgent, framework: str) -> object | None:
    """Return a remote agent as a model."""
    return __getattr__("A2ALLM")(agent=agent) if framework == _FRAMEWORK else None


@hookimpl
def a2a_remote_tool(agent: RemoteAgent, framework: str) -> object | None:
    """Return a remote agent as a tool."""
    return __getattr__("A2ATool").from_url(agent) if framework == _FRAMEWORK else None


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        import_module(_FRAMEWORK)
    except ModuleNotFoundError as error:
        raise MissingExtraError(f"{name} of a2a_adapters_crewai", _FRAMEWORK) from error
    return getattr(import_module(_LAZY[name]), name)
