"""Serves AutoGen agents and teams, and classic `ConversableAgent` objects.

`serve(agent)`, `serve(team)` and `serve(make_team)` need nothing from here. For options, wrap
the target first:

    from a2a_adapters_autogen import adapt

    serve(adapt(make_team, final="all"))
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING

from a2a_adapters import MissingExtraError, hookimpl

if TYPE_CHECKING:
    from a2a_adapters import Adapter
    from a2a_adapters_autogen._adapt import adapt
    from a2a_adapters_autogen._adapter import AutoGenAdapter
    from a2a_adapters_autogen._classic import ConversableAdapter
    from a2a_adapters_autogen._store import MemoryStateStore, StateKey, StateStore

__all__ = [
    "AutoGenAdapter",
    "ConversableAdapter",
    "MemoryStateStore",
    "StateKey",
    "StateStore",
    "adapt",
]

# Importing these imports AutoGen, which takes a second: loaded on first use.
_LAZY = {
    "AutoGenAdapter": "a2a_adapters_autogen._adapter",
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
    if hasattr(target, "a_generate_reply"):
        from a2a_adapters_autogen._classic import adapt_classic  # noqa: PLC0415

        return adapt_classic(target)
    return None


def __getattr__(name: str) -> object:
    if name in _LIGHT:
        return getattr(import_module(_LIGHT[name]), name)
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        import_module("autogen_agentchat")
    except ImportError as error:
        raise MissingExtraError("serving AutoGen agents and teams", "autogen") from error
    return getattr(import_module(_LAZY[name]), name)
