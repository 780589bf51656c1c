"""Picks the adapter for a target."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, TypeGuard, get_args, get_type_hints

from autogen_agentchat.base import ChatAgent, Team

from a2a_adapters import Adapter, Factory
from a2a_adapters_autogen.serving.adapter import AutoGenAdapter

if TYPE_CHECKING:
    from collections.abc import Callable

_TELL_NOTHING = (None, Any, object)


adapt = AutoGenAdapter
"""Wraps an agent, a team or a function that makes one, with options."""


def adapt_if_ours(target: object) -> Adapter | None:
    """Wrap an agent, a team or a function that makes one; pass on anything else."""
    if isinstance(target, ChatAgent | Team) or _makes_them_later(target):
        return AutoGenAdapter(target)
    if isinstance(target, Factory) and isinstance(target.example, ChatAgent | Team):
        return AutoGenAdapter(target)
    return None


def _makes_them_later(target: object) -> TypeGuard[Callable[[], Any]]:
    """Whether an async function says that it makes agents or teams, or does not say what."""
    if not inspect.iscoroutinefunction(target) or inspect.signature(target).parameters:
        return False
    try:
        hint = get_type_hints(target).get("return")
    except Exception:  # annotations only a type checker can resolve say nothing here
        return True
    return hint in _TELL_NOTHING or any(
        inspect.isclass(kind) and issubclass(kind, ChatAgent | Team)
        for kind in (hint, *get_args(hint))
    )
