"""Router: an agent that sends each message to the best of several models and agents.

Serve `Router.from_file("router.yaml")` with `serve(router)` or `a2a-adapters serve router.yaml`.
It enforces budgets and quotas, falls back, and reports its decisions and their cost.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from a2a_adapters.plugin import hookimpl, lazy_names

if TYPE_CHECKING:
    from a2a_adapters.plugin import Adapter
    from a2a_adapters_router.config import (
        Access,
        CacheConfig,
        Combo,
        HistoryConfig,
        Quota,
        RouterConfig,
    )
    from a2a_adapters_router.deployment import Deployment, Price
    from a2a_adapters_router.router import Router

_CONFIG = ("Access", "CacheConfig", "Combo", "HistoryConfig", "Quota", "RouterConfig")

__all__ = [
    "Access",
    "CacheConfig",
    "Combo",
    "Deployment",
    "HistoryConfig",
    "Price",
    "Quota",
    "Router",
    "RouterConfig",
]

# pydantic and litellm are loaded on first use.
__getattr__ = lazy_names(
    __name__,
    {
        **dict.fromkeys(_CONFIG, "config"),
        **dict.fromkeys(("Deployment", "Price"), "deployment"),
        "Router": "router",
    },
)


@hookimpl
def a2a_adapt(target: object) -> Adapter | None:
    """Serve a `Router`."""
    loaded = sys.modules.get(f"{__name__}.router")  # loaded if a router exists
    if loaded is None or not isinstance(target, loaded.Router):
        return None
    from a2a_adapters_router.serving.adapter import RouterAdapter  # noqa: PLC0415

    return RouterAdapter(target)


@hookimpl
def a2a_accepts() -> str:
    """Return the targets served, for messages."""
    return "a router"


@hookimpl
def a2a_target(word: str) -> object | None:
    """Return the router of a YAML file."""
    if not word.endswith((".yaml", ".yml")):
        return None
    from a2a_adapters_router.router import Router  # noqa: PLC0415

    return Router.from_file(word)


@hookimpl
def a2a_commands() -> Mapping[str, str]:
    """Return `a2a-adapters router`."""
    return {"router": "a2a_adapters_router.command:router"}


@hookimpl
def a2a_frameworks() -> Sequence[str]:
    """Return the names of the frameworks that call the models."""
    return ("litellm",)
