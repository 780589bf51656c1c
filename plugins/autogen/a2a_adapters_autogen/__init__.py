"""Serves AutoGen agents and teams, and calls remote agents from them.

`serve(agent)`, `serve(team)` and `serve(make_team)` need nothing from here. For options, wrap
the target first:

    from a2a_adapters_autogen import adapt

    serve(adapt(make_team, final="all"))

The other way round, `A2AChatCompletionClient`, `A2AAgent` and `A2ATool` are remote agents as
AutoGen's own objects.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from a2a_adapters import MissingExtraError, hookimpl

if TYPE_CHECKING:
    from a2a_adapters import Adapter, RemoteAgent
    from a2a_adapters_autogen._adapt import adapt
    from a2a_adapters_autogen._adapter import AutoGenAdapter
    from a2a_adapters_autogen._classic import ConversableAdapter
    from a2a_adapters_autogen._store import MemoryStateStore, StateKey, StateStore
    from a2a_adapters_autogen.calling.agent import A2AAgent
    from a2a_adapters_autogen.calling.client import A2AChatCompletionClient
    from a2a_adapters_autogen.calling.gateway import OmniRouteChatCompletionClient
    from a2a_adapters_autogen.calling.tool import A2ATool

__all__ = [
    "A2AAgent",
    "A2AChatCompletionClient",
    "A2ATool",
    "AutoGenAdapter",
    "ConversableAdapter",
    "MemoryStateStore",
    "OmniRouteChatCompletionClient",
    "StateKey",
    "StateStore",
    "adapt",
]

_FRAMEWORK = "autogen"

# Importing these imports AutoGen, which takes a second: loaded on first use.
_LAZY = {
    "A2AAgent": "a2a_adapters_autogen.calling.agent",
    "A2AChatCompletionClient": "a2a_adapters_autogen.calling.client",
    "A2ATool": "a2a_adapters_autogen.calling.tool",
    "AutoGenAdapter": "a2a_adapters_autogen._adapter",
    "OmniRouteChatCompletionClient": "a2a_adapters_autogen.calling.gateway",
    "adapt": "a2a_adapters_autogen._adapt",
}

# These need no AutoGen at all.
_LIGHT = {
    "ConversableAdapter": "a2a_adapters_autogen._classic",
    "MemoryStateStore": "a2a_adapters_autogen._store",
    "StateKey": "a2a_adapters_autogen._store",
    "StateStore": "a2a_adapters_autogen._store",
}


@hookimpl
def a2a_adapt(target: object) -> Adapter | None:
    """Wrap an agent, a team, or a function that makes one."""
    # An agent or team can only exist if AutoGen is imported already.
    if "autogen_agentchat.base" in sys.modules:
        from a2a_adapters_autogen._adapt import adapt_if_ours  # noqa: PLC0415

        if (adapter := adapt_if_ours(target)) is not None:
            return adapter
    if hasattr(type(target), "a_generate_reply"):
        from a2a_adapters_autogen._classic import adapt_classic  # noqa: PLC0415

        return adapt_classic(target)
    return None


@hookimpl
def a2a_remote_llm(agent: RemoteAgent, framework: str) -> object | None:
    """Return a remote agent as a model client."""
    return __getattr__("A2AChatCompletionClient")(agent) if framework == _FRAMEWORK else None


@hookimpl
def a2a_remote_tool(agent: RemoteAgent, framework: str) -> object | None:
    """Return a remote agent as a tool."""
    return __getattr__("A2ATool").from_agent(agent) if framework == _FRAMEWORK else None


def __getattr__(name: str) -> Any:
    if name in _LIGHT:
        return getattr(import_module(_LIGHT[name]), name)
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        import_module("autogen_agentchat")
    except ImportError as error:
        raise MissingExtraError(f"{name} of a2a_adapters_autogen", "autogen") from error
    return getattr(import_module(_LAZY[name]), name)
