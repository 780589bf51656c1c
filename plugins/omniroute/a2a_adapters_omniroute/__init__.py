"""OmniRoute's dialect of A2A: calls gateways, and serves OmniRoute's clients.

`OmniRouteClient` needs no framework; `a2a_adapters_langchain.OmniRouteA2A` and
`OmniRouteChatModel` are a gateway as LangChain's own models.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from a2a_adapters import RemoteAnswerError, hookimpl
from a2a_adapters_omniroute.dialect import OmniRouteDialect

if TYPE_CHECKING:
    from a2a.types import AgentCard

    from a2a_adapters.dialects import DialectRoutes, DialectServer
    from a2a_adapters_omniroute.client import QUOTA_MANAGEMENT, SMART_ROUTING, OmniRouteClient
    from a2a_adapters_omniroute.errors import (
        OmniRouteAnswerError,
        OmniRouteAuthError,
        OmniRouteBudgetError,
        OmniRouteCancelledError,
        OmniRouteError,
        OmniRouteNotEnabledError,
        OmniRouteProviderError,
        OmniRouteRefusedError,
        OmniRouteTaskFinishedError,
        OmniRouteTaskNotFoundError,
        OmniRouteUnknownSkillError,
    )
    from a2a_adapters_omniroute.reply import OmniRouteCard, OmniRouteReply, OmniRouteTask
    from a2a_adapters_omniroute.routing import Routing

__all__ = [
    "QUOTA_MANAGEMENT",
    "SMART_ROUTING",
    "OmniRouteAnswerError",
    "OmniRouteAuthError",
    "OmniRouteBudgetError",
    "OmniRouteCancelledError",
    "OmniRouteCard",
    "OmniRouteClient",
    "OmniRouteDialect",
    "OmniRouteError",
    "OmniRouteNotEnabledError",
    "OmniRouteProviderError",
    "OmniRouteRefusedError",
    "OmniRouteReply",
    "OmniRouteTask",
    "OmniRouteTaskFinishedError",
    "OmniRouteTaskNotFoundError",
    "OmniRouteUnknownSkillError",
    "Routing",
]

# The client imports httpx and a2a-sdk: loaded on first use.
_MODULES = {
    **dict.fromkeys(("QUOTA_MANAGEMENT", "SMART_ROUTING", "OmniRouteClient"), "client"),
    **dict.fromkeys(("OmniRouteCard", "OmniRouteReply", "OmniRouteTask"), "reply"),
    "Routing": "routing",
}

_DIALECT = "omniroute"


@hookimpl
def a2a_routes(dialect: object, server: DialectServer) -> DialectRoutes | None:
    """Return the routes for OmniRoute's clients."""
    if dialect == _DIALECT:
        dialect = OmniRouteDialect()
    return dialect.routes(server) if isinstance(dialect, OmniRouteDialect) else None


@hookimpl
def a2a_transport(card: AgentCard, url: str) -> None:
    """Refuse gateways, which no client of A2A understands: some of their answers look empty.

    Raises:
        RemoteAnswerError: The card is a gateway's.
    """
    # A2A requires input modes of every card.
    if url.endswith("/a2a") and not card.default_input_modes:
        raise RemoteAnswerError(
            "the agent is an OmniRoute gateway, which does not speak A2A; use OmniRouteClient of "
            "a2a_adapters_omniroute, or OmniRouteA2A of a2a_adapters_langchain"
        )


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES.get(name, 'errors')}"), name)
