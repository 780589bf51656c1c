"""Serves AutoGen agents and teams, and calls remote agents from them.

`serve(agent)`, `serve(team)` and `serve(make_team)` need nothing from here. For options, wrap
the target first:

    from a2a_adapters_autogen import adapt

    serve(adapt(make_team, final="all"))

In the other direction, `A2AChatCompletionClient`, `A2AAgent` and `A2ATool` are remote agents as
AutoGen's own objects.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from a2a_adapters.plugin import hookimpl, lazy_names
from a2a_adapters_autogen.serving.classic import ConversableAdapter, adapt_classic
from a2a_adapters_autogen.serving.memory import MemoryStateStore, StateKey, StateStore

if TYPE_CHECKING:
    from a2a_adapters import RemoteAgent
    from a2a_adapters.plugin import Adapter
    from a2a_adapters_autogen.calling.agent import A2AAgent
    from a2a_adapters_autogen.calling.client import A2AChatCompletionClient
    from a2a_adapters_autogen.calling.tool import A2ATool, A2AToolkit
    from a2a_adapters_autogen.serving.adapter import AutoGenAdapter, adapt

__all__ = [
    "A2AAgent",
    "A2AChatCompletionClient",
    "A2ATool",
    "A2AToolkit",
    "AutoGenAdapter",
    "ConversableAdapter",
    "MemoryStateStore",
    "StateKey",
    "StateStore",
    "adapt",
]

_FRAMEWORK = "autogen"

# Importing these imports AutoGen, which takes a second: loaded on first use.
__getattr__ = lazy_names(
    __name__,
    {
        "A2AAgent": "calling.agent",
        "A2AChatCompletionClient": "calling.client",
        "A2ATool": "calling.tool",
        "A2AToolkit": "calling.tool",
        "adapt": "serving.adapter",
        "AutoGenAdapter": "serving.adapter",
    },
    frameworks=("autogen_agentchat", "autogen_core"),
    extra="autogen",
)


@hookimpl
def a2a_adapt(target: object) -> Adapter | None:
    """Wrap an agent, a team, or a function that makes one."""
    # An agent or team can only exist if AutoGen is imported already.
    if "autogen_agentchat.base" in sys.modules:
        from a2a_adapters_autogen.serving.adapter import adapt_if_ours  # noqa: PLC0415

        if (adapter := adapt_if_ours(target)) is not None:
            return adapter
    return adapt_classic(target)


@hookimpl
def a2a_accepts() -> str:
    """Return the kinds of targets that can be served."""
    return "an agent, a team, or a function that makes one"


@hookimpl
def a2a_frameworks() -> list[str]:
    """Return the frameworks that this plugin supports."""
    return ["autogen-agentchat"]


@hookimpl
def a2a_remote_llm(agent: RemoteAgent, framework: str) -> object | None:
    """Return a remote agent as a model client."""
    return __getattr__("A2AChatCompletionClient")(agent) if framework == _FRAMEWORK else None


@hookimpl
def a2a_remote_tool(agent: RemoteAgent, framework: str) -> object | None:
    """Return a remote agent as a tool."""
    return __getattr__("A2ATool").from_agent(agent) if framework == _FRAMEWORK else None
